import { Composer, CST, type Document, isCollection, isScalar, Lexer, type LineCounter, Parser, visit } from 'yaml';

/** Largest depth of lists and maps in each other. */
const MAX_DEPTH = 64;

/** What is wrong with a text, and where (an offset in characters). */
interface YamlMistake {
  readonly offset: number;
  readonly message: string;
}

/** Bounds of a text. `maxTokens` counts what the lexer of YAML returns: values, indicators, spaces and line ends. */
export interface YamlBounds {
  readonly maxTokens: number;
}

/**
 * Parses one YAML document in a time that grows no faster than its text. The number of tokens and the depth are checked before the document is
 * composed, since composing is slow for deep texts. Keys are texts and unique: collections as keys would be written out once for each level.
 */
export function boundedDocument(text: string, lines: LineCounter, { maxTokens }: YamlBounds): Document.Parsed | YamlMistake {
  if (hasMoreTokens(text, maxTokens)) return { offset: 0, message: `The text has more parts than ${maxTokens}, which is the most` };
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const deep = tooDeep(tokens);
  if (deep) return { offset: deep.offset, message: `Lists and mappings are nested more than ${MAX_DEPTH} levels deep` };
  const [document, second] = new Composer({ uniqueKeys: false }).compose(tokens, true, text.length);
  if (!document) return { offset: 0, message: 'not YAML' };
  const [error] = document.errors;
  if (error) return { offset: error.pos[0], message: error.message };
  if (second) return { offset: second.range[0], message: 'The text holds more than one document' };
  return wrongKey(document) ?? document;
}

function hasMoreTokens(text: string, maxTokens: number): boolean {
  let count = 0;
  for (const _token of new Lexer().lex(text)) if (++count > maxTokens) return true;
  return false;
}

/** Returns the first token at a depth that is not allowed. It does not call itself, since the tokens may be nested thousands of levels deep. */
function tooDeep(tokens: readonly CST.Token[]): CST.Token | undefined {
  const waiting = tokens.map((token) => ({ token, depth: 0 }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { token, depth } = next;
    if (depth > MAX_DEPTH) return token;
    for (const inner of innerTokens(token)) waiting.push({ token: inner, depth: depth + 1 });
  }
  return undefined;
}

function innerTokens(token: CST.Token): readonly CST.Token[] {
  if (token.type === 'document') return token.value ? [token.value] : [];
  if (!CST.isCollection(token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value].filter((part) => part !== undefined && part !== null));
}

/** Returns the first key that is a collection or that its mapping has twice. */
function wrongKey(document: Document.Parsed): YamlMistake | undefined {
  const found: YamlMistake[] = [];
  visit(document, {
    Map: (_key, map) => {
      const names = new Set<unknown>();
      for (const { key } of map.items) {
        const offset = isScalar(key) || isCollection(key) ? (key.range?.[0] ?? 0) : 0;
        if (isCollection(key)) found.push({ offset, message: 'A key is a text, and no list or mapping' });
        else if (isScalar(key) && names.size === names.add(key.value).size) found.push({ offset, message: 'Map keys must be unique' });
      }
      return found.length > 0 ? visit.BREAK : undefined;
    },
  });
  return found[0];
}
