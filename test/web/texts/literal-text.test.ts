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
/** Pages whose texts still stand in their source. */
const NOT_YET = new Set(['shell.ts', 'pages/browser-key-card.ts']);
/** Attributes that a person reads or hears. */
const SPOKEN = /\s(?:aria-label|aria-description|aria-valuetext|title|placeholder|alt|label)="([^"]*)"/g;

/** Returns the texts of the templates of a source: what stands between the tags, and in the attributes that a person reads. */
function literalTexts(source: string): readonly string[] {
  return templatesOf(source).flatMap((template) => {
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

/** Returns the html templates of a source, with a mark in place of each value. Templates inside values are templates of their own. */
function templatesOf(source: string): readonly string[] {
  const found: string[] = [];
  const open: ({ kind: 'template'; text: string; isHtml: boolean } | { kind: 'value'; depth: number })[] = [];
  for (let at = 0; at < source.length; at++) {
    const top = open.at(-1);
    const character = source[at] ?? '';
    if (top?.kind === 'template') {
      if (character === '\\') at++;
      else if (character === '`') {
        open.pop();
        if (top.isHtml) found.push(top.text);
      } else if (source.startsWith('${', at)) {
        top.text += VALUE;
        open.push({ kind: 'value', depth: 0 });
        at++;
      } else top.text += character;
      continue;
    }
    if (character === '`') open.push({ kind: 'template', text: '', isHtml: /html$/.test(source.slice(0, at)) });
    else if (character === "'" && !/\w/.test(source[at - 1] ?? ''))
      at = source.indexOf("'", at + 1) === -1 ? source.length : source.indexOf("'", at + 1);
    else if (source.startsWith('//', at) && top === undefined) at = source.indexOf('\n', at);
    else if (source.startsWith('/*', at)) at = source.indexOf('*/', at) + 1;
    else if (top?.kind === 'value' && character === '{') top.depth++;
    else if (top?.kind === 'value' && character === '}') {
      if (top.depth === 0) open.pop();
      else top.depth--;
    }
  }
  return found;
}

const sources = readdirSync(WEB, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

test.each(sources.filter((name) => !NOT_YET.has(name)))('every text of %s is in the files of the languages', (name) => {
  const texts = literalTexts(readFileSync(join(WEB, name), 'utf8'));
  expect(texts.filter((words) => !SAME_EVERYWHERE.has(words))).toEqual([]);
});

test('the search for literal texts finds them between tags, in attributes, and in templates of templates', () => {
  const source = `html\`<p title="Open it">\${isOn ? html\`<b>Is on</b>\` : 'x'} or off \${text('a.b')}</p><code>atmo</code>\``;
  expect(literalTexts(source).toSorted()).toEqual(['Is on', 'Open it', 'or off']);
});
