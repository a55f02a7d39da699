/** A statement about the home that is meant as a request, such as `it is stuffy`. */
export interface Intent {
  /** Label for people, such as `stuffy air`. */
  readonly label: string;
  /** Pattern that matches the text in lower case without diacritics. */
  readonly pattern: RegExp;
  /** Kinds of devices that help, the most helpful kind first. */
  readonly concepts: readonly string[];
  /** The actions that the helpful devices should do; `read` if a reading answers the request. */
  readonly actions: readonly string[];
}

/** Situations in a home and the devices that help. Most are in English, a few in German and French. */
export const INTENTS: readonly Intent[] = [
  intent(
    'stuffy air',
    /\b(stuffy|stale|fresh air|smell\w*|stinks?|stinky|fumes|stickig|frische luft|lufte?n?|air frais)\b/,
    'purifier fan hood window',
    'on open',
  ),
  intent(
    'too dark',
    /\b(too dark|its? (is )?(so |very |getting )?dark|cant see|cannot see|pitch black|zu dunkel|trop sombre|more light|some light)\b/,
    'light',
    'on raise open',
  ),
  intent('light of day', /\bhow (bright|dark|light) is it\b|\bwie (hell|dunkel) ist es\b/, 'illuminance', 'read'),
  intent('too bright', /\b(too bright|glare|blinding|dazzl\w+|zu hell|trop de lumiere|less light)\b/, 'light cover', 'lower close set'),
  intent(
    'too cold',
    /\b(too cold|cold|freezing|chilly|frozen|warm (it|me|the|us) up|zu kalt|kalt|friere|froid)\b/,
    'thermostat heating temperature',
    'raise set on',
  ),
  intent(
    'too hot',
    /\b(too (hot|warm)|(it is|its|so|very) hot|boiling|sweltering|sweating|roasting|cool (it|me|the|us) (down|off)|zu (heiss|warm)|heiss|chaud)\b/,
    'cooling fan thermostat temperature',
    'lower set on',
  ),
  intent(
    'dry air',
    /\b((too|so|very|and) dry|dry air|^dry$|trockene luft|zu trocken|air sec)(?! the\b)/,
    'humidifier humidity fan',
    'on read',
  ),
  intent('cosy', /\b(co[sz]y|romantic|relax\w*|gemutlich|kuschelig)\b/, 'light scene', 'lower set'),
  intent('too humid', /\b(muggy|damp|humid|clammy|mold|mould|feucht|schimmel)\b/, 'humidifier fan humidity', 'on'),
  intent('too loud', /\b(too loud|noisy|too noisy|keep it down|zu laut|trop fort)\b/, 'volume speaker tv', 'lower mute'),
  intent('too quiet', /\b(cant hear|cannot hear|too quiet|too soft|speak up|zu leise)\b/, 'volume speaker tv', 'raise set'),
  intent(
    'dirty floor',
    /\b(dirty|dusty|crumbs?|messy|(clean|sweep|mop|hoover) (the |my |our )?(\w+ ){0,2}(floors?|carpets?|house|rugs?)|(stop|start|pause|resume) cleaning|dog hair|schmutzig|kruemel|krumel|staub)\b/,
    'vacuum',
    'start',
  ),
  intent(
    'going out',
    /\b(leav(e|ing)|going out|go out|heading out|away|good ?night|bed ?time|going to (bed|sleep)|gute nacht|ins bett|bonne nuit)\b/,
    'lock light cover',
    'lock off close',
  ),
  intent(
    'who is home',
    /\b(any(one|body) (home|in|there)|some(one|body) (home|in|there)|(any|some)(one|body) at home|ist (da )?jemand|quelqu un)\b/,
    'motion',
    'read',
  ),
  intent('at the door', /\b(at the (front )?door|visitor|delivery|parcel|package|rang|ringing)\b/, 'doorbell camera', 'read'),
  intent(
    'thirsty plants',
    /\b(water(ing)? (the|my|our)|thirsty|dry (soil|lawn|grass)|giess\w*|arrose\w*)\b/,
    'irrigation valve soil',
    'open on start',
  ),
  intent('charging the car', /\b(charge (the|my) (car|ev|tesla)|charging|plug in the car|lade das auto)\b/, 'charger', 'on start'),
  intent('drying', /\b(dry (the|my|our) \w+|tumble dry|wasche trocknen)\b/, 'dryer', 'start'),
  intent('laundry', /\b((do|wash|start) (the |my |our )?laundry|wash (the|my) (clothes|sheets)|dirty clothes)\b/, 'washer dryer', 'start'),
  intent('dishes', /\b((do|wash) the dishes|dirty (dishes|plates))\b/, 'dishwasher', 'start'),
  intent('cooking', /\b(bake|baking|roast|cook dinner|preheat|pizza)\b/, 'oven cooktop', 'on set start'),
  intent('film', /\b(watch (a |the )?(movie|film|show|tv|match|game)|film schauen|regarder un film)\b/, 'tv light cover', 'on play'),
  intent('music', /\b(listen to|some music|hear (a|some) (song|music)|musik horen)\b/, 'speaker media', 'play on'),
  intent(
    'safety',
    /\b(burglars?|intruders?|break in|secure the|is (the house|it) (safe|locked)|einbrecher)\b/,
    'lock alarm camera contact',
    'lock read',
  ),
  intent('fire', /\b(fire|burning|brennt|feu)\b/, 'smoke', 'read'),
  intent('water where none should be', /\b(flood(ed|ing)?|dripping|wet floor|water on the floor|leaking)\b/, 'leak valve', 'close read'),
  intent('too much sun', /\b(too sunny|sun (is )?(shining|in my)|block the sun|privacy|neighbou?rs can see)\b/, 'cover', 'close lower'),
  intent('hot water', /\b((a|my|hot) shower|hot water|take a bath|warmes wasser)\b/, 'water_heater', 'on start'),
  intent(
    'use of energy',
    /\b(electricity bill|power (use|usage|consumption)|how much (energy|power|electricity)|stromverbrauch)\b/,
    'energy',
    'read',
  ),
  intent('telling somebody', /\b(alert|notify|remind|tell (him|her|them|everyone)|let \w+ know|send (a|an))\b/, 'notify', 'send'),
  intent('seeing', /\b(vision|see what|look at|take a (picture|photo))\b/, 'image camera face', 'read'),
];

function intent(label: string, pattern: RegExp, concepts: string, actions: string): Intent {
  return { label, pattern, concepts: concepts.split(' '), actions: actions.split(' ') };
}

/** An idiom and the plain words that replace it. In these words, `$1` stands for the first group of the pattern. */
interface Idiom {
  readonly pattern: RegExp;
  readonly plain: string;
}

/** Matches the position after an adjective that is the last word of a phrase. It does not match after `dark` in `dark blue`. */
const AT_THE_END = String.raw`(?=\s*(?:$|[.,!?;])|\s+(?:in|at|on|for|so|please|now|here|there|again|upstairs|downstairs|outside|bitte|im|am|auf|unten|oben)\b)`;
const REQUEST_VERB = String.raw`\b(?:make|keep|have|get|want|need|like)\s+`;
const OBJECT = String.raw`(?:it\s+|everything\s+|(?:the\s+|my\s+)?([\p{L}\d'’ -]{1,40}?)\s+)`;
const VERY = String.raw`(?:(?:all|very|really|totally|completely|pitch|nice and)\s+)*`;
const DEGREE = String.raw`(?:(?:a bit|a little|much|way|far)\s+)?(?:too|so|very|getting|pretty|quite|really)\s+(?:too\s+|very\s+)?`;

const IDIOMS: readonly Idiom[] = [
  // A request to make a room dark means to turn the lights off, not to dim them.
  idiom(`${REQUEST_VERB}${OBJECT}${VERY}(?:dark|pitch[- ]black)${AT_THE_END}`, 'turn off the light $1'),
  idiom(String.raw`\bmach\w*\s+(?:es\s+|alles\s+|(?:das|den|die)\s+([\p{L} -]{1,40}?)\s+)(?:ganz\s+)?dunkel${AT_THE_END}`, 'Licht aus $1'),
  // `It is too dark` requests more light. AT_THE_END ensures that `dark` is not part of a name here.
  idiom(String.raw`\b(?:it(?:['’]?s| is)\s+)?${DEGREE}dark${AT_THE_END}`, 'more light'),
  idiom(String.raw`\b(?:es\s+ist\s+)?(?:viel\s+)?zu\s+dunkel${AT_THE_END}`, 'more light'),
  idiom(String.raw`\blet there be light\b`, 'turn on the light'),
  // Corrects the typo `switch of`. Otherwise, `switch` would count as a device.
  idiom(String.raw`\b(turn|switch|shut)\s+of\b`, '$1 off'),
  idiom(String.raw`\blights?\s+out\b`, 'turn off the light'),
  // In German, `schließe` means to close, but `schließe … ab` means to lock and `schließe … auf` to unlock.
  idiom(String.raw`\b(?:schlie(?:ß|ss)e?|sperre?)\s+([\p{L} -]{1,40}?)\s+auf\b`, 'entriegle $1'),
  idiom(String.raw`\b(?:schlie(?:ß|ss)e?|sperre?)\s+([\p{L} -]{1,40}?)\s+ab\b`, 'verriegle $1'),
  idiom(String.raw`\bsend\s+((?:the |my )?[\p{L}\d -]{1,40}?)\s+(?:back\s+)?home\b`, 'send home $1'),
  // `It is freezing` means a cold room, unless `outside` follows.
  idiom(String.raw`\bit(?:['’]?s| is)\s+(?:so |absolutely |really )?freezing\b(?!\s+(?:outside|out there))`, 'it is too cold'),
  // `Watering` is replaced: here it means a valve, not a water heater.
  idiom(String.raw`\b(?:stop|finish|quit|end)\s+(?:the\s+)?(?:watering|irrigati(?:ng|on))\b`, 'close the valve'),
  idiom(String.raw`\b(?:start|begin)\s+(?:the\s+)?(?:watering|irrigati(?:ng|on))\b`, 'open the valve'),
  // `Bed time` is replaced, because `time` would match other tools.
  idiom(String.raw`\bbed\s?time\b`, 'good night'),
];

/** Returns the sentence with idioms replaced by plain words. */
export function expandIdioms(sentence: string): string {
  return IDIOMS.reduce((text, { pattern, plain }) => text.replace(pattern, plain), sentence);
}

function idiom(source: string, plain: string): Idiom {
  return { pattern: new RegExp(source, 'giu'), plain };
}
