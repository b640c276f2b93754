/** The part of a large picture that is seen: moved by dragging, zoomed by wheel, pinch and buttons. */

/** @import {Point} from "./places.js" */
/** @typedef {{x: number, y: number, width: number, height: number}} Rect */

const NEAREST = 2.5; // scales
const FARTHEST = 0.04;
const READABLE = 0.55; // below it only kinds are told
const TINY = 0.24; // below it nothing is
const WHEEL = 0.0015; // of a pixel of the wheel
const SETTLING = 150; // milliseconds after which it is moved no more
const EDGE = 24; // pixels around what is fitted in
const STILL = 4; // pixels that a click may move

/** Shows `world`, an element in `picture`, as it is moved. It is moved as a whole, by its style: what
 * is in it is not laid out again. */
export class Viewport {
  #x = 0;
  #y = 0;
  #scale = 1;
  #isDue = false;
  /** When it was moved last. */
  #movedAt = 0;
  /** Whether somebody moved or zoomed it. */
  isTouched = false;
  /** @type {Map<number, Point>} */
  #pointers = new Map();
  #moved = 0;

  /**
   * @param {HTMLElement} picture
   * @param {SVGElement} world
   */
  constructor(picture, world) {
    this.picture = picture;
    this.world = world;
    picture.addEventListener("wheel", this.#wheeled, { passive: false });
    picture.addEventListener("pointerdown", this.#pressed);
    picture.addEventListener("pointermove", this.#dragged);
    for (const end of ["pointerup", "pointercancel", "pointerleave"])
      picture.addEventListener(end, this.#released);
    picture.addEventListener("click", this.#clicked, { capture: true });
    picture.addEventListener("dragstart", (event) => event.preventDefault());
  }

  /** Whether it is being moved: then all time is needed for that. */
  get isMoving() {
    return this.isTouched && performance.now() - this.#movedAt < SETTLING;
  }

  /**
   * Show all of a rectangle, not larger than it is.
   * @param {Rect} rect
   */
  fit({ x, y, width, height }) {
    const { clientWidth, clientHeight } = this.picture;
    const across = (clientWidth - 2 * EDGE) / Math.max(1, width);
    const down = (clientHeight - 2 * EDGE) / Math.max(1, height);
    this.#scale = Math.max(FARTHEST, Math.min(1, across, down));
    this.isTouched = false;
    this.#x = clientWidth / 2 - (x + width / 2) * this.#scale;
    this.#y = clientHeight / 2 - (y + height / 2) * this.#scale;
    this.#apply(); // now: it is done before something large is drawn
  }

  /**
   * Have something in the middle, large enough to read.
   * @param {Point} point
   */
  centre({ x, y }) {
    const { clientWidth, clientHeight } = this.picture;
    this.isTouched = true;
    this.#scale = Math.max(this.#scale, 0.9);
    this.#moveTo(clientWidth / 2 - x * this.#scale, clientHeight / 2 - y * this.#scale);
  }

  /**
   * Move no more than is needed to see something.
   * @param {Rect} rect
   */
  reveal({ x, y, width, height }) {
    const { clientWidth, clientHeight } = this.picture;
    const left = this.#x + x * this.#scale;
    const top = this.#y + y * this.#scale;
    const right = clientWidth - width * this.#scale - EDGE;
    const bottom = clientHeight - height * this.#scale - EDGE;
    const dx = Math.max(EDGE, Math.min(left, right)) - left;
    const dy = Math.max(EDGE, Math.min(top, bottom)) - top;
    if (dx || dy) this.move(dx, dy);
  }

  /**
   * @param {number} dx in pixels
   * @param {number} dy
   */
  move(dx, dy) {
    this.isTouched = true;
    this.#moveTo(this.#x + dx, this.#y + dy);
  }

  /**
   * @param {number} factor
   * @param {Point} [at] that stays where it is, in pixels; the middle if none is given
   */
  zoom(factor, at = { x: this.picture.clientWidth / 2, y: this.picture.clientHeight / 2 }) {
    const scale = Math.max(FARTHEST, Math.min(NEAREST, this.#scale * factor));
    const by = scale / this.#scale;
    this.#scale = scale;
    this.isTouched = true;
    this.#moveTo(at.x - (at.x - this.#x) * by, at.y - (at.y - this.#y) * by);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #moveTo(x, y) {
    this.#x = x;
    this.#y = y;
    this.#movedAt = performance.now();
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#apply();
    });
  }

  #apply() {
    const place = `translate(${this.#x}px, ${this.#y}px) scale(${this.#scale})`;
    this.world.style.setProperty("transform", place);
    this.picture.classList.toggle("far", this.#scale < READABLE);
    this.picture.classList.toggle("tiny", this.#scale < TINY);
  }

  /** @param {WheelEvent} event */
  #wheeled = (event) => {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const speed = event.ctrlKey ? 5 : 1; // pinching a touchpad
    this.zoom(Math.exp(-event.deltaY * lines * speed * WHEEL), this.#at(event));
  };

  /** @param {PointerEvent} event */
  #pressed = (event) => {
    if (event.button) return;
    if (!this.#pointers.size) this.#moved = 0;
    this.#pointers.set(event.pointerId, this.#at(event));
  };

  /** @param {PointerEvent} event */
  #dragged = (event) => {
    const before = this.#pointers.get(event.pointerId);
    if (!before) return;
    const now = this.#at(event);
    this.#pointers.set(event.pointerId, now);
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.#moved += Math.hypot(now.x - before.x, now.y - before.y);
    if (other) {
      const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
      this.zoom(distance(now, other) / Math.max(1, distance(before, other)), middle);
      this.move((now.x - before.x) / 2, (now.y - before.y) / 2);
    } else if (this.#moved > STILL) {
      this.picture.setPointerCapture(event.pointerId);
      this.move(now.x - before.x, now.y - before.y);
    }
  };

  /** @param {Event} event */
  #released = (event) => {
    if (event instanceof PointerEvent) this.#pointers.delete(event.pointerId);
  };

  /** What ends a drag opens nothing. @param {Event} event */
  #clicked = (event) => {
    if (this.#moved <= STILL) return;
    this.#moved = 0;
    event.preventDefault();
    event.stopPropagation();
  };

  /** @param {MouseEvent} event */
  #at({ clientX, clientY }) {
    const { left, top } = this.picture.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  }
}

/**
 * @param {Point} a
 * @param {Point} b
 */
function distance(a, b) {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
