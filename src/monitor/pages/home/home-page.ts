import { html, type TemplateResult } from 'lit';
import { PageElement } from '../../parts/page-element.ts';

/** First form. */
export class HomePage extends PageElement {
  protected override render(): TemplateResult {
    return html`<header class="page-head"><h1>Home</h1></header>`;
  }
}

customElements.define('atmo-page-home', HomePage);
