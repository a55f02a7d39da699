import { App } from './app.ts';
import { Shell } from './shell.ts';
import { loadLanguage } from './texts/language.ts';

document.documentElement.lang = await loadLanguage(localStorage, navigator.languages);
customElements.define('atmo-shell', Shell);
const app = new App();
await app.start();
const shell = document.querySelector<Shell>('atmo-shell');
if (shell) shell.app = app;
