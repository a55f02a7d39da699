/** `RvcOperationalState` → `rvc_operational_state`, `PM25` → `pm25`; the words of a Matter name in snake_case. */
export function snake(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
}

/** What a name is called that only its manufacturer has: a prefix and a suffix of 16 bits each in hexadecimal (Core §7.18.2). */
const UNNAMED = /^(Cluster|Attr)0x([0-9a-f]{1,8})$/;
/** Clusters of manufacturers begin here (Core §7.18.2.3). */
const FIRST_VENDOR_CLUSTER = 0xfc00;

/** `snake`, where what has no name is called by its number: `Cluster0xfff1fc01` → `vendor_1`, `Attr0xfff10002` → `attribute_2`. */
export function spokenName(name: string): string {
  const { kind, id = 0 } = unnamed(name) ?? {};
  if (kind === undefined) return snake(name);
  const own = id % 0x1_0000;
  if (kind === 'Attr') return `attribute_${own}`;
  return own >= FIRST_VENDOR_CLUSTER ? `vendor_${own - FIRST_VENDOR_CLUSTER}` : `cluster_${own}`;
}

/** The same with the number of the manufacturer, where two of them use one number: `vendor_65521_1`. */
export function spokenNameOfMaker(name: string): string {
  const { kind, id = 0 } = unnamed(name) ?? {};
  const [first, ...rest] = spokenName(name).split('_');
  return kind === undefined ? snake(name) : [first, Math.floor(id / 0x1_0000), ...rest].join('_');
}

function unnamed(name: string): { readonly kind: string; readonly id: number } | undefined {
  const [, kind, hex = ''] = UNNAMED.exec(name) ?? [];
  return kind === undefined ? undefined : { kind, id: Number.parseInt(hex, 16) };
}

/** Two names as one in which no words stand twice in a row: `account_login` and `login` are `account_login`. */
export function joinedName(first: string, second: string): string {
  const [before, after] = [first.split('_'), second.split('_')];
  const repeated = after.findLastIndex((_, at) => before.slice(-at - 1).join('_') === after.slice(0, at + 1).join('_'));
  return [...before, ...after.slice(repeated + 1)].join('_');
}

/** `OnOffLight` → `on off light`. */
export function words(name: string): string {
  return spokenName(name).replaceAll('_', ' ');
}
