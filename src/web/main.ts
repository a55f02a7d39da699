/*
 * Defines the elements of all pages. They are in one file with the frame: together they are smaller than a library such as the QR
 * reader, which is loaded on demand.
 */
import './pages/activity-page.ts';
import './pages/add-device-page.ts';
import './pages/agents-page.ts';
import './pages/approvals-page.ts';
import './pages/device-page.ts';
import './pages/events-page.ts';
import './pages/home-page.ts';
import './pages/mesh-page.ts';
import './pages/networks-page.ts';
import './pages/tokens-page.ts';
import './pages/tools-page.ts';
import { App } from './app.ts';
import { Shell } from './shell.ts';

customElements.define('atmo-shell', Shell);
const app = new App();
await app.start();
const shell = document.querySelector<Shell>('atmo-shell');
if (shell) shell.app = app;
