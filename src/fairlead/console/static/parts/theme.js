/** Light or dark: as the system has it, until the person says otherwise. */

const KEY = "fairlead.theme";

export function useTheme() {
  const kept = localStorage.getItem(KEY);
  if (kept) document.documentElement.style.colorScheme = kept;
}

export function switchTheme() {
  const root = document.documentElement;
  const isDark = root.style.colorScheme
    ? root.style.colorScheme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.style.colorScheme = isDark ? "light" : "dark";
  localStorage.setItem(KEY, root.style.colorScheme);
}
