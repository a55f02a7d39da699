/*
 * Defines the elements of all pages. They come in one file with the frame: together they are smaller than a library such as
 * the QR reader, which the page that needs it asks for by itself.
 */
import './pages/activity/activity-page.ts';
import './pages/add-device/add-device-page.ts';
import './pages/agents/agents-page.ts';
import './pages/approvals/approvals-page.ts';
import './pages/device/device-page.ts';
import './pages/events/events-page.ts';
import './pages/home/home-page.ts';
import './pages/mesh/mesh-page.ts';
import './pages/networks/networks-page.ts';
import './pages/tokens/tokens-page.ts';
import './pages/tools/tools-page.ts';
