import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const WEB = join(import.meta.dirname, '../../../src/web');
/** Texts that are the same in every language: names of products and networks, examples of codes and units. */
const SAME_EVERYWHERE = new Set([
  'Atmosphere',
  'Wi-Fi',
  'Thread',
  'JSON',
  'ms',
  'PIN',
  'matter:…',
  'at1.…',
  'atmo-join1.…',
  'device:control:hall-lamp',
]);
/** Strings of several words that nobody reads: names of products and values, and commands, which are the same in every language. */
const NO_SENTENCE =
  /^(?:Claude Desktop|Claude Code|VS Code|OpenAI Codex|OpenAI functions|warm white|claude mcp add .*|codex mcp .*|curl -sS.*|sudo systemctl .*|ATMO_URL=.*|(?:Authorization|Accept): .*)$/s;
/** Attributes that a person reads or hears. */
const SPOKEN = /\s(?:aria-label|aria-description|aria-valuetext|title|placeholder|alt|label)="([^"]*)"/g;

/** Returns the texts of the templates of a source: what stands between the tags, and in the attributes that a person reads. */
function literalTexts(source: string): readonly string[] {
  return partsOf(source).templates.flatMap((template) => {
    const spoken = [...template.matchAll(SPOKEN)].map(([, value]) => value ?? '');
    const between = template
      .replaceAll(/<code>[^<]*<\/code>/g, '')
      .replaceAll(/<!--[\s\S]*?-->/g, '')
      .replaceAll(/<[^>]*>/g, '\n')
      .split('\n');
    return [...spoken, ...between].map((part) => part.replaceAll(VALUE, ' ').trim()).filter((part) => /\p{L}{2}/u.test(part));
  });
}

/** Stands for a value of a template. */
const VALUE = '\u0000';

/** Returns the strings of a source that look like a sentence: two words with a blank between them. Templates of html are not among them. */
function sentences(source: string): readonly string[] {
  const { strings } = partsOf(source);
  return strings.map((one) => one.replaceAll(VALUE, '0')).filter((one) => /(?:^|[ "'(])\p{L}{2,}[,:]? \p{L}{2,}/u.test(one));
}

/**
 * Returns the html templates of a source and its other strings, with a mark in place of each value. Templates inside values are templates
 * of their own.
 */
function partsOf(source: string): { readonly templates: readonly string[]; readonly strings: readonly string[] } {
  const templates: string[] = [];
  const strings: string[] = [];
  const open: ({ kind: 'template'; text: string; isHtml: boolean } | { kind: 'value'; depth: number })[] = [];
  for (let at = 0; at < source.length; at++) {
    const top = open.at(-1);
    const character = source[at] ?? '';
    if (top?.kind === 'template') {
      if (character === '\\') at++;
      else if (character === '`') {
        open.pop();
        (top.isHtml ? templates : strings).push(top.text);
      } else if (source.startsWith('${', at)) {
        top.text += VALUE;
        open.push({ kind: 'value', depth: 0 });
        at++;
      } else top.text += character;
      continue;
    }
    if (character === '`') open.push({ kind: 'template', text: '', isHtml: /html$/.test(source.slice(0, at)) });
    else if (character === "'" && !/\w/.test(source[at - 1] ?? '')) {
      const end = source.indexOf("'", at + 1) === -1 ? source.length : source.indexOf("'", at + 1);
      strings.push(source.slice(at + 1, end));
      at = end;
    } else if (source.startsWith('//', at) && source[at - 1] !== ':') at = source.indexOf('\n', at);
    else if (source.startsWith('/*', at)) at = source.indexOf('*/', at) + 1;
    else if (top?.kind === 'value' && character === '{') top.depth++;
    else if (top?.kind === 'value' && character === '}') {
      if (top.depth === 0) open.pop();
      else top.depth--;
    }
  }
  return { templates, strings };
}

const sources = readdirSync(WEB, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

test.each(sources)('every text of %s is in the files of the languages', (name) => {
  const source = readFileSync(join(WEB, name), 'utf8');
  expect(literalTexts(source).filter((words) => !SAME_EVERYWHERE.has(words))).toEqual([]);
  expect(sentences(source).filter((words) => !NO_SENTENCE.test(words))).toEqual([]);
});

test('the search for literal texts finds them between tags, in attributes, and in templates of templates', () => {
  const source = `html\`<p title="Open it">\${isOn ? html\`<b>Is on</b>\` : 'x'} or off \${text('a.b')}</p><code>atmo</code>\``;
  expect(literalTexts(source).toSorted()).toEqual(['Is on', 'Open it', 'or off']);
  const code = `// it's a note\nthrow new HubError('DENIED', late ? 'nobody agreed in time' : \`it was \${how} refused\`); import 'lit';`;
  expect(sentences(code)).toEqual(['nobody agreed in time', 'it was 0 refused']);
});
