import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { AtmoError } from '../../../src/core/errors.ts';
import { LOOKS, type Look } from './look.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** What is waited for comes; a browser on a machine that others load takes its time. */
const SETTLE_LIMIT_MS = 100_000;
const MOST_TABS = 150;
/** What a person who uses keys knows of the focus: the words of its element, and whether a line is drawn around it. */
const FOCUSED = String.raw`(() => {
  const { activeElement: at } = document;
  if (!at || at === document.body) return { words: '', isSeen: false };
  const label = at.getAttribute('aria-label') ?? at.labels?.[0]?.querySelector('.label')?.textContent ?? at.labels?.[0]?.textContent ?? at.textContent;
  const around = at.closest('label');
  const isSeen = [at, around].some((one) => one && getComputedStyle(one).outlineStyle !== 'none' && getComputedStyle(one).outlineWidth !== '0px');
  return { words: (label ?? '').trim().replace(/\s+/g, ' '), isSeen };
})()`;

/** What the address fragment of a login link carries (docs/monitor.md). */
export interface PageLogin {
  readonly token: string;
  readonly person?: string;
  readonly key?: string;
}

interface OpenPageOptions {
  readonly url: string;
  readonly look?: Look;
  /** Language of the browser. */
  readonly locale?: string;
  /** Without it the page asks for a token. */
  readonly login?: PageLogin;
}

/** The page of a hub in a browser of its own, and everything that the browser complained about. */
export class OpenPage implements AsyncDisposable {
  readonly page: Page;
  /** Errors of the console, uncaught errors, and what the content security policy refused. */
  readonly complaints: string[] = [];
  readonly #context: BrowserContext;
  readonly #url: string;
  #look: Look;

  private constructor(page: Page, { url, look = 'light' }: OpenPageOptions) {
    this.page = page;
    this.#context = page.context();
    this.#url = url;
    this.#look = look;
    page.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(`${message.text()} ${message.location().url}`);
    });
    page.on('pageerror', (error) => this.complaints.push(`uncaught: ${error.message}`));
  }

  /** Opens the page and signs in. */
  static async open(browser: Browser, options: OpenPageOptions): Promise<OpenPage> {
    const context = await browser.newContext({
      ...LOOKS[options.look ?? 'light'],
      reducedMotion: 'reduce',
      locale: options.locale ?? 'en-GB',
    });
    context.setDefaultTimeout(SETTLE_LIMIT_MS);
    const opened = new OpenPage(await context.newPage(), options);
    const login = options.login && `#login=${Buffer.from(JSON.stringify(options.login)).toString('base64url')}`;
    await opened.#goto(`${options.url}/${login ?? ''}`);
    await opened.settled();
    return opened;
  }

  /** Opens an address. Where the browser warns of the certificate, goes on all the same, with the word that Chromium takes for that. */
  async #goto(url: string): Promise<void> {
    try {
      await this.page.goto(url);
    } catch (error) {
      if (!String(error).includes('ERR_CERT_AUTHORITY_INVALID')) throw error;
      // The warning is shown only after the address was refused.
      await this.page.waitForURL('chrome-error://chromewebdata/');
      await this.page.keyboard.type('thisisunsafe');
      await this.page.waitForURL((shown) => shown.protocol === 'https:');
    }
  }

  /** Goes to a route of the page, such as `devices/kitchen-lamp`, and waits until it shows what it has. */
  async show(route: string): Promise<void> {
    await this.page.goto(`${this.#url}/#/${route}`);
    await this.settled();
  }

  /** Resolves when nothing on the page says any more that it is busy. */
  async settled(): Promise<void> {
    await this.page.locator('main').first().waitFor();
    await this.page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
  }

  /** Brings a button to the middle of the screen, and waits until the page has seen it there. */
  async bringToMiddle(button: Locator): Promise<void> {
    await button.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    await this.page.evaluate('new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(() => seen())))');
  }

  /** Presses a button that decides as a person does: where it has stood still on the screen for a while. */
  async decide(button: Locator): Promise<void> {
    await this.bringToMiddle(button);
    await button.and(this.page.locator('[aria-disabled="false"]')).waitFor();
    const { x, y, width, height } = (await button.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await this.page.mouse.click(x + width / 2, y + height / 2);
  }

  /** Presses Tab until an element with this label or text has the focus, and fails where the focus cannot be seen. */
  async tabTo(label: string | RegExp): Promise<void> {
    for (let press = 0; press < MOST_TABS; press++) {
      await this.page.keyboard.press('Tab');
      const { words, isSeen } = (await this.page.evaluate(FOCUSED)) as { readonly words: string; readonly isSeen: boolean };
      if (typeof label === 'string' ? words !== label : !label.test(words)) continue;
      if (!isSeen) throw new AtmoError('INTERNAL_ERROR', `The focus on "${words}" cannot be seen`);
      return;
    }
    throw new AtmoError('INTERNAL_ERROR', `Tab never reaches ${label}`);
  }

  /** Returns the label or the text of the element that has the focus; empty if it is the page as a whole. */
  async focused(): Promise<string> {
    return ((await this.page.evaluate(FOCUSED)) as { readonly words: string }).words;
  }

  /** A look that first agrees, once, where the page asks for an approval: whether it does depends on how dangerous the call is. */
  agreeing<Seen>(look: () => Promise<Seen>): () => Promise<Seen> {
    const approve = this.page.getByRole('button', { name: 'Approve and do it' });
    let hasAgreed = false;
    return async () => {
      if (!hasAgreed && (await approve.isVisible())) {
        hasAgreed = true;
        await approve.click();
      }
      return look();
    };
  }

  /** Gives the open page another screen and other colours, without loading it anew. */
  async wear(look: Look): Promise<void> {
    const { viewport, colorScheme } = LOOKS[look];
    await this.page.setViewportSize(viewport);
    await this.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await this.page.evaluate('new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(() => seen())))');
    this.#look = look;
  }

  /** What is wrong for people who cannot see, or see little, as axe-core finds it: rule, element, reason. */
  async barriers(): Promise<readonly string[]> {
    // Not a script element: the policy of the page would refuse it, and shall.
    if (await this.page.evaluate('window.axe === undefined')) await this.page.evaluate(AXE);
    // By night the same elements have other colours, and nothing else is different.
    const rules = LOOKS[this.#look].colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : {};
    const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
    const { violations } = (await this.page.evaluate(`window.axe.run(document, ${options})`)) as AxeResults;
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.flat().join(' ')}: ${failureSummary}`),
    );
  }

  /** Pixels by which the page is wider than the screen; 0 unless a person has to scroll sideways. */
  overflowPixels(): Promise<number> {
    return this.page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  }

  /** A picture of what the screen shows, as WebP: a fifth of the same PNG. */
  async picture(): Promise<Buffer> {
    const session = await this.#context.newCDPSession(this.page);
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 82 });
    return Buffer.from(data, 'base64');
  }

  get look(): Look {
    return this.#look;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}
