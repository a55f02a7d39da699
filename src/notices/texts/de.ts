import type { CallWords } from '../../core/devices/call-words.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { clockTime, dateText, type NoticeTexts } from './notice-texts.ts';

const HOUR_MS = 3_600_000;

/** The verbs of `verbOf`. One that is missing here stays English. */
const VERBS: Readonly<Record<string, string>> = {
  'Turn on': 'Einschalten',
  'Turn on for a time': 'Für eine Weile einschalten',
  'Turn off': 'Ausschalten',
  Switch: 'Umschalten',
  'Set the level of': 'Helligkeit oder Stufe einstellen',
  'Change the level of': 'Helligkeit oder Stufe ändern',
  'Set the color of': 'Farbe einstellen',
  Lock: 'Abschließen',
  Unlock: 'Aufschließen',
  Unbolt: 'Entriegeln',
  'Unlock for a time': 'Für eine Weile aufschließen',
  'Set a user of': 'Benutzer einrichten',
  'Delete a user of': 'Benutzer löschen',
  'Set a credential of': 'Zugangscode einrichten',
  'Delete a credential of': 'Zugangscode löschen',
  Open: 'Öffnen',
  Close: 'Schließen',
  Move: 'Bewegen',
  Tilt: 'Neigen',
  'Move a panel of': 'Ein Teil bewegen',
  Calibrate: 'Kalibrieren',
  Stop: 'Anhalten',
  Start: 'Starten',
  'Set the cooking of': 'Garen einstellen',
  Pause: 'Pausieren',
  Resume: 'Fortsetzen',
  'Set the temperature of': 'Temperatur einstellen',
  'Change the temperature of': 'Temperatur ändern',
  'Set the speed of': 'Geschwindigkeit einstellen',
  'Set the mode of': 'Modus einstellen',
  'Set the smoke sensitivity of': 'Empfindlichkeit für Rauch einstellen',
  Test: 'Testen',
  'Run an action of': 'Eine Aktion ausführen',
};

const CALL: CallWords = {
  action: (verb, devices) => `${VERBS[verb] ?? verb}: ${devices}`,
  read: (element, devices) => `${element} lesen: ${devices}`,
  parts: (device, numbers) => `${device}, ${numbers.length > 1 ? 'Teile' : 'Teil'} ${numbers.join(' und ')}`,
  pathOf: (path, device) => `${path} von ${device}`,
  counted: (count, kind, places) => {
    const where = places === undefined ? '' : ` an ${places} Stellen`;
    return `${count} ${kind === 'devices' ? 'Geräte' : 'Dinge'}${where}`;
  },
  andMore: (names, more) => `${names} und ${more} ${more === 1 ? 'weiteres' : 'weitere'}`,
  runs: (program) => `, führt aus: ${program}`,
  inSteps: (count) => `, in ${count} ${count === 1 ? 'Schritt' : 'Schritten'}`,
  call: (named, { work, does, touches }) => {
    const ways = [...(does === '' ? [] : [does]), ...(touches === '' ? [] : [`betrifft ${touches}`])];
    return `${named}${work} – ${ways.join('; ')}`;
  },
  byTool: (named, tool, work) => `${named} mit ${tool}${work}`,
};

/** The usual answers to questions. Any other stays as its author wrote it. */
const ANSWERS: Readonly<Record<string, string>> = { yes: 'ja', no: 'nein' };

/** The notices in German. */
export const de: NoticeTexts = {
  call: CALL,
  approval: {
    title: 'Freigabe nötig',
    text: ({ agent, hub, call, count, untilMs, nowMs }) => {
      const more = count === 1 ? '' : ` (${count} solche Anfragen warten)`;
      const until = untilText(untilMs, nowMs);
      const who = hub === undefined ? agent : `${agent} vom Hub ${quoted(hub)}`;
      return `${who} möchte: ${call}${more}. Entscheide bis ${until}.`;
    },
  },
  question: {
    title: (name) => `Frage von ${name}`,
    text: ({ text, answers, untilMs, nowMs }) =>
      `${text} (${answers.map((one) => ANSWERS[one] ?? one).join(' / ')}) Antworte bis ${untilText(untilMs, nowMs)}.`,
  },
  message: { title: (name) => `Nachricht von ${name}` },
  leak: { title: 'Wasser ausgelaufen', text: (where) => `${where} meldet Wasser. Dreh das Wasser ab und sieh nach.` },
  smoke: { title: 'Rauchalarm', text: (where) => `${where} meldet Rauch. Wenn es brennt, verlass das Haus und ruf die Feuerwehr.` },
  carbonMonoxide: {
    title: 'Kohlenmonoxid',
    text: (where) => `${where} meldet Kohlenmonoxid. Öffne ein Fenster und verlass sofort das Haus.`,
  },
  battery: { title: 'Batterie schwach', text: (where) => `Die Batterie von ${where} ist schwach.` },
  lock: {
    title: 'Schloss',
    alarms: {
      LockJammed: (where) => `${where} klemmt`,
      LockFactoryReset: (where) => `${where} wurde auf die Werkseinstellungen zurückgesetzt`,
      LockRadioPowerCycled: (where) => `${where} hat seinen Funk aus- und eingeschaltet`,
      WrongCodeEntryLimit: (where) => `An ${where} wurde zu oft ein falscher Code eingegeben`,
      FrontEsceutcheonRemoved: (where) => `${where} hat seine vordere Abdeckung verloren`,
      DoorForcedOpen: (where) => `${where} meldet, dass die Tür aufgebrochen wurde`,
      DoorAjar: (where) => `${where} meldet, dass die Tür offen steht`,
      ForcedUser: (where) => `${where} wurde mit dem Notfallcode geöffnet`,
    },
    text: (alarm) => `${alarm}. Sieh nach.`,
  },
  lost: {
    title: 'Gerät antwortet nicht',
    text: (where, forMs) => `${where} antwortet seit ${hoursText(forMs)} nicht. Prüf den Strom und den Abstand zum Hub.`,
  },
  agents: {
    named: { automation: (name) => `Die Automation ${name}`, agent: (name) => `Der Agent ${name}` },
    stoppedTitle: { automation: 'Automation beendet', agent: 'Agent beendet' },
    failedTitle: { automation: 'Automation fehlgeschlagen', agent: 'Agent fehlgeschlagen' },
    endingTitle: { automation: 'Automation endet bald', agent: 'Agent endet bald' },
    stopped: (what, reason) => `${what} läuft nicht mehr: ${reason}.`,
    failed: (what, problem, isPaused) => {
      const rest = isPaused ? ' Nach einer Pause folgt der nächste Versuch.' : '';
      return `${what} ist fehlgeschlagen: ${problem}.${rest}`;
    },
    ending: (what, atMs) => `${what} endet am ${dayText(atMs)}.`,
    causes: {
      lifetime_over: 'Die Zeit ist um',
      token_revoked: 'Das Token oder eines, von dem es stammt, wurde widerrufen',
      token_invalid: 'Das Token gilt nicht mehr',
    },
    unknown: 'Der Grund ist nicht bekannt',
  },
  proposal: {
    title: 'Automation vorgeschlagen',
    text: (agent, name) => `${agent} schlägt die Automation ${name} vor. Sie läuft erst, wenn jemand sie annimmt.`,
  },
  token: {
    title: 'Ein Token endet bald',
    text: (agent, atMs) => `Das Token von ${agent} endet am ${dayText(atMs)}. Mach ein neues, wenn es noch gebraucht wird.`,
  },
  certificate: {
    title: 'Ein Zertifikat endet bald',
    text: {
      authority: (atMs) => `Das Zertifikat der Seite endet am ${dayText(atMs)}. Jeder Browser muss dem neuen vertrauen.`,
      page: (atMs) => `Das Zertifikat der Seite endet am ${dayText(atMs)}. Leg ein neues an die Stelle seiner Dateien.`,
      name: (atMs) => `Das Zertifikat für den Namen des Hubs endet am ${dayText(atMs)}. Der Hub versucht immer wieder, es zu erneuern.`,
      mesh: (atMs) =>
        `Das Zertifikat dieses Hubs in seinem Mesh endet am ${dayText(atMs)}. Starte den Hub, der ihn hereingelassen hat: Er erneuert es. Oder führe atmo mesh renew aus.`,
    },
    notRenewed: {
      title: 'Zertifikat nicht erneuert',
      text: (problem) => `${problem}. Der Hub versucht es von selbst wieder, nach einem Neustart sofort.`,
    },
  },
  backup: { title: 'Sicherung überfällig', text: (problem) => `Der Hub ist seit Längerem nicht gesichert. ${problem}` },
  update: {
    title: 'Aktualisierung verfügbar',
    text: (device, version) => `Auf ${device} lässt sich Version ${version} installieren.`,
    hub: (version) => `Version ${version} des Hubs lässt sich installieren.`,
    notKept: {
      title: 'Aktualisierung des Hubs zurückgenommen',
      text: (version, isPossible) =>
        isPossible
          ? `Version ${version} des Hubs ist nicht in Gang gekommen oder war nicht gewünscht. Die Version davor läuft wieder.`
          : `Version ${version} des Hubs ist zuerst nicht in Gang gekommen, und es gab keinen Weg zurück zur Version davor.`,
    },
  },
  disk: {
    title: 'Speicher fast voll',
    text: (freeMiB) =>
      `Auf dem Speicher des Hubs sind nur ${freeMiB} MiB frei. Lösch alte Dateien, sonst kann der Hub bald nichts mehr speichern.`,
  },
  tool: { title: 'Werkzeug benutzt', text: (who, tool, atMs) => `${who} hat um ${clockTime(atMs)} Uhr ${tool} benutzt.` },
};

/** Returns a time of day, with the day unless it is today. */
function untilText(untilMs: number, nowMs: number): string {
  const day = dayText(untilMs);
  return day === dayText(nowMs) ? `${clockTime(untilMs)} Uhr` : `${clockTime(untilMs)} Uhr am ${day}`;
}

function dayText(atMs: number): string {
  return dateText(atMs, 'de');
}

function hoursText(ms: number): string {
  const hours = Math.floor(ms / HOUR_MS);
  if (hours < 48) return hours === 1 ? 'einer Stunde' : `${hours} Stunden`;
  return `${Math.floor(hours / 24)} Tagen`;
}
