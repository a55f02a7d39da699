import { describe, expect, test } from 'vitest';
import { pageElements } from '../../../src/connectors/web/html-scraper.ts';
import { type PageFormat, pageText } from '../../../src/connectors/web/page-text.ts';
import { processorMs } from '../../processor-time.ts';

const { signal } = new AbortController();

function read(html: string, form: PageFormat = 'markdown', maxCharacters = 10_000): Promise<string> {
  return pageText({ html, url: 'https://garden.example/beds/' }, form, { signal, maxCharacters });
}

describe('a page as Markdown', () => {
  test.each([
    ['headings and paragraphs', '<h1>Beds</h1><p>Seven\n beans.</p><h3>More</h3>', '# Beds\n\nSeven beans.\n\n### More'],
    ['marks without the spaces inside', '<p>a<b> tall </b>bean and <em>peas</em></p>', 'a **tall** bean and *peas*'],
    ['no marks around nothing', '<p>a <b></b> b<a href=/x></a></p>', 'a b'],
    ['links that lead on', '<a href="../shed(1)">Shed</a>', '[Shed](https://garden.example/shed%281%29)'],
    ['links to nowhere as text', '<a href="javascript:evil()">Shed</a>', 'Shed'],
    ['a heading inside of a link', '<a href="/a"><h2>Shed</h2><p>dry</p></a>', '[Shed dry](https://garden.example/a)'],
    ['pictures', '<img src=bean.png alt="A bean">', '![A bean](https://garden.example/beds/bean.png)'],
    [
      'lists in lists',
      '<ul><li>peas<ol start=3><li>low</li><li>high</li></ol></li><li>beans</li></ul>',
      '- peas\n\n  3. low\n  4. high\n\n- beans',
    ],
    ['quotes', '<blockquote><p>one</p><p>two</p></blockquote>', '> one\n>\n> two'],
    ['code as it is', '<pre>if (a)\n   b *c*</pre><p>then <code>x</code></p>', '```\nif (a)\n   b *c*\n```\n\nthen `x`'],
    ['rows of tables', '<table><tr><th>Bed<th>Plant<tr><td>1<td>Pea</table>', 'Bed | Plant\n1 | Pea'],
    ['line breaks', 'one<br>two<hr>three', 'one\ntwo\n\n---\n\nthree'],
    [
      'no scripts, styles and forms of the site',
      '<head><title>T</title></head><script>evil()</script><style>x{}</style><p>text</p>',
      'text',
    ],
    ['entities and odd spaces', '<p>2&nbsp;&lt;&nbsp;3 &amp; more</p>', '2 < 3 & more'],
  ])('has %s', async (_, html, markdown) => {
    expect(await read(html)).toBe(markdown);
  });

  test('reading ends soon after the wanted length', async () => {
    const text = await read('<p>word </p>'.repeat(200_000), 'text', 1_000);
    expect(text.length).toBeGreaterThan(1_000);
    expect(text.length).toBeLessThan(50_000);
  });

  test('is refused when it nests without end, and grows by no more than it has', async () => {
    await expect(read('<div>'.repeat(100_000))).rejects.toMatchObject({ code: 'SERVICE_REFUSED' });
    const quotes = await read(`${'<blockquote>'.repeat(900)}${'<p>x</p>'.repeat(900)}`, 'markdown', 1_000_000);
    expect(quotes.length).toBeLessThan(50_000);
  });

  test.each(['<b></b>', '<b> x</b>', '<a href="/x"></a>'])('is not copied whole for each of many marks (%s)', async (marked) => {
    const page = `${'word '.repeat(100_000)}${marked.repeat(20_000)}`;
    let longestMs = 0;
    let isRead = false;
    const turns = (async () => {
      while (!isRead) longestMs = Math.max(longestMs, await processorMs(() => new Promise((resolve) => setTimeout(resolve, 1))));
    })();
    await read(page, 'markdown', 2_000_000);
    isRead = true;
    await turns;
    // Every piece of it took seconds before, of the whole hub.
    expect(longestMs).toBeLessThan(1_500);
  });

  test('ends with its caller', async () => {
    const caller = AbortSignal.abort(new Error('enough'));
    await expect(pageText({ html: '<p>x', url: 'https://a.example/' }, 'text', { signal: caller, maxCharacters: 9 })).rejects.toThrow(
      'enough',
    );
  });
});

test('a page as text has words alone', async () => {
  const html = '<h1>Beds</h1><p>Seven <b>tall</b> <a href="/b">beans</a> <img src=x alt="and a pea"></p><ul><li>one</ul><pre>a\n b</pre>';
  expect(await read(html, 'text')).toBe('Beds\n\nSeven tall beans and a pea\n\n- one\n\na\n b');
});

describe('elements of a page', () => {
  const html = '<ul class=news><li><a href="/1" title=x>One <script>evil()</script><b>first</b></a><li><a href="/2">Two</a></ul><p>Else';
  const find = (...selectors: readonly string[]) => pageElements(html, { selectors, maxItems: 3, signal });

  test('are found by selectors, with words and attributes', async () => {
    expect(await find('.news a', 'p')).toEqual([
      { selector: '.news a', tag: 'a', text: 'One first', attributes: { href: '/1', title: 'x' } },
      { selector: '.news a', tag: 'a', text: 'Two', attributes: { href: '/2' } },
      { selector: 'p', tag: 'p', text: 'Else', attributes: {} },
    ]);
    expect(await find('li', 'a', 'p')).toHaveLength(3);
    expect(await find('h1')).toEqual([]);
  });

  test('are asked for in the words of CSS', async () => {
    await expect(find('a[')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    await expect(find('a:no-such-thing(2)')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('that take for ever to find are given up', async () => {
    const deep = `${'<div>'.repeat(900)}<p>x</p>`;
    const page = deep + '</div>'.repeat(900) + deep;
    const search = pageElements(page, { selectors: ['main * * * * * p'], maxItems: 3, signal });
    await expect(search).rejects.toMatchObject({ code: 'RESOURCE_EXCEEDED' });
  });
});
