/** Menus are `<details class="menu">`: the browser opens them, and closes them by their own button only. */

/** Closes menus when the reader chooses an item, or clicks elsewhere. */
export function watchMenus(): void {
  document.addEventListener("click", ({ target }) => {
    closeMenus(target instanceof Element ? target.closest("summary") : null);
  });
}

/**
 * Closes the open menus.
 *
 * @param button that was pressed: the browser opens or closes its menu
 * @returns whether one was open
 */
export function closeMenus(button: Element | null = null): boolean {
  const open = Array.from(
    document.querySelectorAll<HTMLDetailsElement>("details.menu[open]"),
  ).filter((menu) => !menu.contains(button));
  for (const menu of open) {
    // An item that has the focus would lose it.
    if (menu.contains(document.activeElement)) menu.querySelector("summary")?.focus();
    menu.open = false;
  }
  return open.length > 0;
}
