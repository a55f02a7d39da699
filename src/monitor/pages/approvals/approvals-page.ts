import { html, type TemplateResult } from 'lit';
import { PageElement } from '../../parts/page-element.ts';

/** First form. */
export class ApprovalsPage extends PageElement {
  protected override render(): TemplateResult {
    return html`<header class="page-head"><h1>Approvals</h1></header>`;
  }
}

customElements.define('atmo-page-approvals', ApprovalsPage);
