import { html, LitElement, nothing, type TemplateResult } from 'lit';

/** JSON that is only written out once somebody unfolds it: lists have hundreds of them. */
export class Unfolded extends LitElement {
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

customElements.define('atmo-unfolded', Unfolded);
