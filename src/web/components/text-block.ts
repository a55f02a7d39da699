import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { icon } from './icon.ts';

interface CopyOptions {
  /** What it is, for who cannot see it. */
  readonly label: string;
  onCopied(): void;
}

/** Text that is there to be taken elsewhere: selectable, with a button that copies it. */
export function copyable(text: string, { label, onCopied }: CopyOptions): TemplateResult {
  return html`<div class="copyable">
    <pre tabindex="0" role="group" aria-label=${label}>${text}</pre>
    <button type="button" class="button small" aria-label="Copy ${label}" @click=${(event: Event) => copy(event, text).then(onCopied)}>${icon('copy')}Copy</button>
  </div>`;
}

/** The clipboard needs a secure origin; where it is not, the text is selected for the person's own Ctrl+C. */
async function copy({ currentTarget }: Event, text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text);
  const pre = currentTarget instanceof Element ? currentTarget.previousElementSibling : null;
  if (pre) getSelection()?.selectAllChildren(pre);
}

/** JSON that is only written out once somebody unfolds it: lists have hundreds of them. */
export class LazyJson extends LitElement {
  static override properties = { value: { attribute: false }, isOpen: { state: true } };
  declare value: unknown;
  declare isOpen: boolean;
  #details: HTMLDetailsElement | null = null;
  readonly #onToggle = () => {
    this.isOpen = this.#details?.open === true;
  };

  override connectedCallback(): void {
    super.connectedCallback();
    this.#details = this.closest('details');
    this.#details?.addEventListener('toggle', this.#onToggle);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#details?.removeEventListener('toggle', this.#onToggle);
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render(): TemplateResult | typeof nothing {
    return this.isOpen ? html`<pre tabindex="0" role="group" aria-label="All of it">${JSON.stringify(this.value, null, 2)}</pre>` : nothing;
  }
}

customElements.define('atmo-unfolded', LazyJson);
