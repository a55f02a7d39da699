import { html, type TemplateResult } from 'lit';
import { chooseLanguage, chosenLanguage, LANGUAGES } from '../texts/language.ts';
import { text } from '../texts/text.ts';
import { inputValue } from './form-values.ts';

/** Returns the field in which a person chooses the language of the page in this browser. The page then loads itself anew. */
export function languageChoice(): TemplateResult {
  const chosen = chosenLanguage(localStorage);
  return html`<label class="field language"><span class="hidden">${text('shell.language')}</span>
    <select @change=${(event: Event) => choose(inputValue(event))}>
      <option value="" ?selected=${chosen === undefined}>${text('shell.language_of_browser')}</option>
      ${Object.entries(LANGUAGES).map(
        ([tag, { name }]) => html`<option value=${tag} lang=${tag} ?selected=${tag === chosen}>${name}</option>`,
      )}
    </select></label>`;
}

function choose(tag: string): void {
  chooseLanguage(localStorage, tag === '' ? undefined : tag);
  // Every text is drawn when its element changes, and most elements do not change with the language.
  location.reload();
}
