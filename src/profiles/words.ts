/** `RvcOperationalState` → `rvc_operational_state`, `PM25` → `pm25`; the words of a Matter name in snake_case. */
export function snake(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
}

/** `OnOffLight` → `on off light`. */
export function words(name: string): string {
  return snake(name).replaceAll('_', ' ');
}

// Letters, digits and plain punctuation: no quotes, brackets or marks that could end a quotation or look like markup or a link.
const NOT_PLAIN = /[^\p{L}\p{N}\p{Zs} .,:;!?+\-–/'’&()#°%_]/gu;

/** Text from a device or a person, quoted for use inside a description: one line, at most 64 characters, nothing that ends the quotation. */
export function quoted(text: string): string {
  return `"${plain(text)}"`;
}

/** The same without the quotation marks. */
export function plain(text: string): string {
  const clean = text
    .replace(/\p{C}|\p{Zl}|\p{Zp}/gu, ' ')
    .replace(NOT_PLAIN, '')
    .replace(/\/{2,}/g, '/')
    .replace(/\s+/g, ' ')
    .trim();
  return [...clean].slice(0, 64).join('').trim();
}
