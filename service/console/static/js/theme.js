// The theme before anything is painted: the system's, unless somebody chose one in this browser.
// A classic script in the head, so that a dark page never flashes white.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; then the system's theme it is.
}
