// Frames of the explorer prefer the colors of the page around them.
const follow = () => {
  const dark = document.documentElement.dataset.theme === "dark";
  for (const frame of document.querySelectorAll("iframe.explorer-view")) frame.style.colorScheme = dark ? "dark" : "light";
};
new MutationObserver(follow).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
document.addEventListener("DOMContentLoaded", follow);
