import en from './en.json' with { type: 'json' };

/** A text that depends on a number, by the plural categories of CLDR. `other` is the form of all categories that are not there. */
type PluralForms = Partial<Readonly<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };
/** The texts of one language: sections, most of them one a page, each with the texts by their names. */
export type TextTable = Readonly<Record<string, Readonly<Record<string, string | PluralForms>>>>;

/** The name of a text: its section in en.json and its name there, such as `approvals.title`. */
export type TextKey = { [Section in keyof typeof en]: `${Section}.${keyof (typeof en)[Section] & string}` }[keyof typeof en];

/** What stands in the places of a text, by the names of the places. Numbers are written as the language writes them. */
export type TextValues = Readonly<Record<string, string | number>>;

/** A language with the tools that write numbers and choose plurals. */
interface Language {
  /** BCP 47, with the region that the browser names, such as `de-AT`. */
  readonly tag: string;
  readonly table: TextTable;
  readonly plurals: Intl.PluralRules;
  readonly numbers: Intl.NumberFormat;
}

// The only state of a module in the page: a page speaks one language from its load to the next, and every template asks for texts.
let spoken = languageOf('en', en);

function languageOf(tag: string, table: TextTable): Language {
  return { tag, table, plurals: new Intl.PluralRules(tag), numbers: new Intl.NumberFormat(tag) };
}

/** Makes `text` speak a language. Called once, before the first element is drawn. */
export function speak(tag: string, table: TextTable): void {
  spoken = languageOf(tag, table);
}

/** Returns the tag of the page's language (BCP 47), for `Intl` and for the `lang` of the document. */
export function languageTag(): string {
  return spoken.tag;
}

/**
 * Returns a text in the language of the page. `{name}` in the text becomes the value of that name; `count` chooses the plural form.
 * Call it while drawing, not when a module is loaded: only then the language is known.
 */
export function text(key: TextKey, values: TextValues = {}): string {
  return parts(key, values).join('');
}

/** Returns a text as parts for a Lit template. Values may be templates, so a text can contain links, code and emphasis. */
export function textWith(key: TextKey, values: Readonly<Record<string, unknown>>): readonly unknown[] {
  return parts(key, values);
}

/** Returns whether there is a text of this name. For names that are made from what the hub sends. */
export function hasText(key: string): key is TextKey {
  return entryOf(key) !== undefined;
}

/** Returns the text and its values in turn: a text, a value, a text, … */
function parts(key: TextKey, values: Readonly<Record<string, unknown>>): readonly unknown[] {
  return formOf(key, values.count)
    .split(/\{(\w+)\}/)
    .map((part, index) => (index % 2 === 0 ? part : written(values[part], part)));
}

function formOf(key: TextKey, count: unknown): string {
  const entry = entryOf(key) ?? key;
  if (typeof entry === 'string') return entry;
  return (typeof count === 'number' ? entry[spoken.plurals.select(count)] : undefined) ?? entry.other;
}

function entryOf(key: string): string | PluralForms | undefined {
  const [section = '', name = ''] = key.split('.', 2);
  const texts = Object.hasOwn(spoken.table, section) ? spoken.table[section] : undefined;
  return texts && Object.hasOwn(texts, name) ? texts[name] : undefined;
}

/** A place without a value stays as it is written, so that the mistake is seen. */
function written(value: unknown, name: string): unknown {
  if (value === undefined) return `{${name}}`;
  return typeof value === 'number' ? spoken.numbers.format(value) : value;
}
