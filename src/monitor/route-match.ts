/** What stands in the address where the route has `:name`, and behind `?`. */
export type RouteParams = Readonly<Record<string, string>>;

/** The parameters of an address such as `#/devices/lamp?tab=raw` by a route such as `devices/:id`; undefined when it is another page's. */
export function matchRoute(route: string, hash: string): RouteParams | undefined {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const wanted = route.split('/');
  const given = path.split('/').filter((part) => part !== '');
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = Object.fromEntries(new URLSearchParams(query));
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = decoded(value);
    else if (part !== value) return undefined;
  }
  return params;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
