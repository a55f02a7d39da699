import '../components/push-card.ts';
import { html, type TemplateResult } from 'lit';
import { languageChoice } from '../components/language-choice.ts';
import { PageElement } from '../components/page-element.ts';
import { text } from '../texts/text.ts';

/** Page about this browser: its language, the page as an app, and notices that reach it. */
export class ThisDevicePage extends PageElement {
  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>${text('this_device.title')}</h1><p>${text('this_device.about')}</p></header>
      <div class="stack">
        <section class="card" aria-labelledby="language-title">
          <h2 id="language-title">${text('shell.language')}</h2>
          ${languageChoice()}
        </section>
        <atmo-push-card .app=${this.app}></atmo-push-card>
      </div>
    `;
  }
}

customElements.define('atmo-page-this-device', ThisDevicePage);
