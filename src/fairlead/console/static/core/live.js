/** Something that is kept current by a request which goes on. */

/** Tells of `changed`, at most once a frame. */
export class Live extends EventTarget {
  /** @type {"loading" | "live" | "waiting"} */
  state = "loading";
  /** Why it is not live. */
  problem = "";
  #isTold = false;

  /**
   * @param {"live" | "waiting"} state
   * @param {string} problem
   */
  become(state, problem) {
    this.state = state;
    this.problem = problem;
    this.tell();
  }

  tell() {
    if (this.#isTold) return;
    this.#isTold = true;
    requestAnimationFrame(() => {
      this.#isTold = false;
      this.dispatchEvent(new Event("changed"));
      this.told();
    });
  }

  /** Called when everybody was told. */
  told() {}
}
