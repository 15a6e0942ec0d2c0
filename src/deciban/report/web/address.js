// The address of a page, which holds what a reader has chosen. In the frame of a notebook there is none.

/** Whether the page has an address of its own. */
export const hasAddress = location.protocol !== "about:";

const PAUSE = 200; // milliseconds between two changes of the address
let waiting = 0;
let written = -PAUSE;

/**
 * Change the address without leaving the page: at once, or after a pause where it has just been changed.
 *
 * Browsers refuse more than two hundred changes in half a minute, and a drag makes more.
 */
export function writeAddress(address) {
  clearTimeout(waiting);
  const write = () => {
    written = performance.now();
    history.replaceState(null, "", address);
  };
  const pause = written + PAUSE - performance.now();
  if (!hasAddress) return;
  if (pause > 0) waiting = setTimeout(write, pause);
  else write();
}

/**
 * Let links to parts of the page scroll there without a change of the address: it would lose what a reader
 * has chosen and, in a notebook, lead to the notebook itself.
 */
export function keepLinksInside() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const part = document.getElementById(link.hash.slice(1));
    if (!part) return;
    scrollTo(part);
    if (!part.hasAttribute("tabindex")) part.tabIndex = -1;
    part.focus({ preventScroll: true }); // so that the next Tab goes on from there
  });
}

/** Bring a part of the page to the top, and keep it there while the figures around it are drawn and take their room. */
function scrollTo(part) {
  const follow = new ResizeObserver(() => part.scrollIntoView({ behavior: "instant" }));
  follow.observe(document.body); // it calls at once, too
  const stop = () => follow.disconnect();
  for (const event of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(event, stop, { once: true });
  setTimeout(stop, 2000);
}
