/** The title of the tab: how many requests wait, so that it is seen from another tab, and the page. */
export function titleOf(waiting: number, page: string | undefined): string {
  const name = page === undefined ? 'Atmosphere' : `${page} · Atmosphere`;
  return waiting > 0 ? `(${waiting}) ${name}` : name;
}
