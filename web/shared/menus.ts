/** Menus are `<details class="menu">`, which the browser opens, and closes by their own button only. */

/** Closes menus when the reader chooses an item, or clicks elsewhere. */
export function watchMenus(): void {
  document.addEventListener("click", ({ target }) => {
    closeMenus(target instanceof Element ? target.closest("summary") : null);
  });
}

/**
 * Closes the open menus.
 *
 * @param button pressed button, whose menu the browser opens or closes
 * @returns whether a menu was open
 */
export function closeMenus(button: Element | null = null): boolean {
  const open = Array.from(
    document.querySelectorAll<HTMLDetailsElement>("details.menu[open]"),
  ).filter((menu) => !menu.contains(button));
  for (const menu of open) {
    // A focused item would lose the focus.
    if (menu.contains(document.activeElement)) menu.querySelector("summary")?.focus();
    menu.open = false;
  }
  return open.length > 0;
}
