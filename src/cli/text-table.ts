/** Rows under headings, columns aligned; `(none)` without rows. */
export function textTable(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  if (rows.length === 0) return '(none)\n';
  const cells = rows.map((row) => row.map(cellText));
  const widths = headings.map((heading, column) => Math.max(heading.length, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return `${[line(headings), ...cells.map(line)].join('\n')}\n`;
}

/** Names and values, one pair a line; empty values are left out. */
export function textPairs(pairs: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(pairs).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${cellText(value)}\n`).join('');
}

/** A value as one line of text without control characters: what devices and tools say must not steer a terminal. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return plainText(value).replace(/\p{Cc}+/gu, ' ');
}

function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  const isListOfTexts = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isListOfTexts ? value.join(', ') : JSON.stringify(value);
}

/** An age for people: `12 s`, `5 min`, `3 h`, `2 d`. */
export function ageText(ageMs: unknown): string {
  if (typeof ageMs !== 'number') return 'never';
  const seconds = Math.round(ageMs / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
