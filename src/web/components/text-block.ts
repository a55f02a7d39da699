import { html, nothing, type TemplateResult } from 'lit';
import { text } from '../texts/text.ts';
import { icon } from './icon.ts';
import { LightElement, type Stop } from './light-element.ts';

interface CopyOptions {
  /** Name of the text, for screen readers. */
  readonly label: string;
  onCopied(): void;
}

/** Returns a selectable text with a copy button. */
export function copyable(content: string, { label, onCopied }: CopyOptions): TemplateResult {
  return html`<div class="copyable">
    <pre tabindex="0" role="group" aria-label=${label}>${content}</pre>
    <button type="button" class="button small" aria-label=${text('forms.copy_thing', { label })} @click=${(event: Event) => copy(event, content).then(onCopied)}>${icon('copy')}${text('forms.copy')}</button>
  </div>`;
}

/** Copies a text. On an insecure origin there is no clipboard, so the text is only selected, and the person can press Ctrl+C. */
async function copy({ currentTarget }: Event, content: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(content);
  const pre = currentTarget instanceof Element ? currentTarget.previousElementSibling : null;
  if (pre) getSelection()?.selectAllChildren(pre);
}

class LazyContent extends LightElement {
  static override properties = { content: { attribute: false }, isOpened: { state: true } };
  declare content: () => unknown;
  declare isOpened: boolean;

  protected override connected(): readonly Stop[] {
    const details = this.closest('details');
    const onToggle = () => {
      this.isOpened ||= details?.open === true;
    };
    details?.addEventListener('toggle', onToggle);
    return [() => details?.removeEventListener('toggle', onToggle)];
  }

  protected override render(): unknown {
    return this.isOpened ? this.content() : nothing;
  }
}

customElements.define('atmo-unfolded', LazyContent);

/** Returns content that is rendered only when its `<details>` is first opened. This saves time if a page has hundreds of `<details>`. */
export function lazyContent(content: () => unknown): TemplateResult {
  return html`<atmo-unfolded .content=${content}></atmo-unfolded>`;
}

/** Returns a value as JSON. It is rendered only when the surrounding `<details>` is first opened. */
export function lazyJson(value: unknown): TemplateResult {
  return lazyContent(
    () => html`<pre tabindex="0" role="group" aria-label=${text('forms.all_of_it')}>${JSON.stringify(value, null, 2)}</pre>`,
  );
}
