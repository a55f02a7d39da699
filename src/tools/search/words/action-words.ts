/**
 * What people say when something is to be done, and what titles of tools say: each line is what is meant (`on`, or several
 * with how surely), then the phrases in English, German, French, Spanish, Dutch and Italian. `_` joins words.
 */
export const ACTION_PHRASES: readonly string[] = [
  'on: turn_on turns_on switch_on put_on power_on power_up flip_on activate enable illuminate light_up energize enabled | einschalten anschalten anmachen anknipsen | allume allumer mets_en_marche | enciende encender prende activa conecta | aanzetten aandoen inschakelen | accendi accendere attiva',
  'off: turn_off turns_off switch_off shut_off put_off power_off power_down shut_down flip_off cut_off deactivate disable disabled kill extinguish | ausschalten abschalten ausmachen | eteins eteindre coupe arrete | apaga apagar desactiva desconecta | uitzetten uitdoen uitschakelen | spegni spegnere disattiva',
  'toggle: toggle flip | umschalten | bascule basculer | alterna | schakel_om | commuta',
  'open: open opens opened roll_up pull_up unfold unroll_window release_gate | offne offnen aufmachen hochfahren | ouvre ouvrir | abre abrir | openen | apri aprire',
  'close: close closes closed shut draw pull_down roll_down | schliess schliesse schliessen zumachen herunterfahren runterfahren | ferme fermer | cierra cerrar | sluit sluiten dichtdoen | chiudi chiudere',
  'lock: lock locks lock_up bolt secure | verriegeln abschliessen zusperren verriegle sperr_ab schliess_ab | verrouille verrouiller | bloquea | vergrendel | blocca chiudi_a_chiave',
  'unlock: unlock unlocks unbolt let_in | entriegeln aufschliessen aufsperren entriegle schliess_auf | deverrouille deverrouiller | desbloquea | ontgrendel | sblocca',
  'set: set change adjust put_to make_it program regulate | stelle stell einstellen setze andere dreh | regle regler mets mettre | pon ajusta cambia fija | stel instellen zet_op | imposta regola metti',
  'set lower=0.85: dim dims | dimme dimmen runterdimmen | tamise tamiser | atenua | dimmen | abbassa_la_luce',
  'set=0.6 raise: brighten brighter | heller | plus_lumineux eclaircis | mas_brillante | feller | piu_luminoso',
  'set=0.6 lower: darken darker | dunkler | plus_sombre | mas_oscuro | donkerder | piu_scuro',
  'raise set=0.6: increase raise up turn_up higher louder crank crank_up boost warmer | erhohe erhohen lauter warmer hoher | augmente augmenter monte plus_fort plus_chaud | aumenta sube mas_alto | verhoog harder warmer hoger | alza aumenta',
  'lower set=0.6: decrease lower reduce down turn_down softer quieter colder cooler dimmer | verringere senke leiser kalter kuhler niedriger | baisse baisser diminue moins_fort plus_froid | baja reduce disminuye | verlaag zachter kouder lager | abbassa riduci',
  'faster: faster | schneller | plus_vite | mas_rapido | sneller | piu_veloce',
  'play: play plays unpause resume_playback continue_playback start_playing start_playback keep_playing | spiel spiele abspielen wiedergabe fortsetzen | joue jouer lecture reprends | reproduce pon_musica reanuda | speel afspelen hervat | riproduci suona riprendi',
  'play=0.9 start=0.8: resume continue carry_on go_on proceed | weiter weitermachen | reprendre continue continuer | continua continuar | verder | continua',
  'pause stop=0.6: pause pauses pause_playback hold_on freeze_playback | pausiere pausieren anhalten | mets_en_pause pause | pausa pausar | pauzeer | metti_in_pausa pausa',
  'stop pause=0.7 off=0.6: stop halt cease quit abort cancel end | stopp stoppe halt aufhoren | arrete stoppe | para deten | stop | ferma',
  'next: next skip forward advance following skip_ahead | nachster nachste nachstes uberspringen | suivant suivante | siguiente salta | volgende | prossimo successivo avanti',
  'previous: previous prior go_back skip_back skip_backward skip_backwards last_song last_track last_tune backwards back_a back_one | vorheriger vorherige vorheriges zuruck | precedent precedente | anterior | vorige | precedente indietro',
  'mute: mute silence hush quiet shush | stumm stummschalten | sourdine coupe_le_son | silencia silencio | dempen | silenzia muto',
  'unmute: unmute sound_on | ton_an | remets_le_son | quita_silencio',
  'dock: dock go_home return_to_base return_to_dock go_to_base back_to_base back_to_dock back_to_the_base back_to_the_dock go_back_to_the_base go_back_to_the_dock go_back_to_base go_back_to_dock go_to_the_dock send_home send_back recharge return come_back | basis zuruck_zur_basis ladestation_fahren | retour_a_la_base | vuelve_a_la_base | terug_naar_basis | torna_alla_base',
  'start: start starts begin run launch commence initiate kick_off get_going fire_up clean hoover vacuum sweep mop | starte starten beginne loslegen sauge | demarre demarrer lance lancer nettoie aspire | inicia empieza arranca limpia aspira | begin | avvia inizia pulisci',
];

/** The same for what titles of tools say beside that, where it means more or less than the words alone. */
export const TITLE_PHRASES: readonly string[] = [
  'on=0.75: turn_on_for turn_on_timed',
  'unlock=0.75: unlock_for',
  'unlock=0.95: unbolt',
  'raise lower: step_speed faster_or_slower',
  'next=0.35: fast_forward skip_forward',
  'previous=0.35: rewind skip_backward start_over',
  'start=0.9 set: set_run_mode run_mode clean_mode',
  'play=0.9 start=0.5: resume',
  'on=0.45 off=0.3 set: fan_mode set_fan_mode',
  'on=0.45 off=0.3 set raise=0.4 lower=0.4: fan_speed set_fan_speed',
  'off=0.9 stop: stop_fan',
  'on=0.4 off=0.35 set: set_mode system_mode',
  'set raise=0.5 lower=0.5: set_brightness set_volume set_temperature set_a_thermostat',
  'set open=0.5 close=0.5: set_position set_a_cover',
  'dock: go_home dock',
];

/** What a wanted action is met by beside itself, and how well: a valve is opened by whoever turns the sprinkler on. */
export const ACTION_KIN: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  on: { open: 0.5, start: 0.6, play: 0.45, toggle: 0.3, unmute: 0.25 },
  off: { close: 0.5, stop: 0.55, toggle: 0.3, pause: 0.35, mute: 0.25, dock: 0.25 },
  open: { unlock: 0.3, raise: 0.3, on: 0.35 },
  close: { lock: 0.4, lower: 0.3, off: 0.35 },
  lock: { close: 0.3 },
  unlock: { open: 0.4 },
  start: { on: 0.75, play: 0.5, open: 0.4 },
  stop: { off: 0.6, pause: 0.6, close: 0.3 },
  play: { on: 0.3, start: 0.5 },
  raise: { open: 0.5, set: 0.5, on: 0.2 },
  lower: { close: 0.5, set: 0.5, off: 0.2 },
  faster: { raise: 0.8, set: 0.5 },
  next: { raise: 0.1 },
  dock: { stop: 0.3, off: 0.2 },
  set: { open: 0.5, raise: 0.3, lower: 0.3 },
};

/** What undoes an action or keeps it from happening: no answer to whoever asked for it. */
export const OPPOSITES: Readonly<Record<string, readonly string[]>> = {
  on: ['off', 'close', 'stop', 'pause'],
  off: ['on', 'open', 'start', 'play'],
  open: ['close', 'lock'],
  close: ['open', 'unlock'],
  lock: ['unlock', 'open'],
  unlock: ['lock', 'close'],
  raise: ['lower', 'close', 'off'],
  lower: ['raise', 'open', 'on'],
  start: ['stop', 'pause', 'dock', 'off'],
  stop: ['start', 'play', 'on'],
  play: ['pause', 'stop', 'off'],
  pause: ['play', 'start', 'on'],
  next: ['previous'],
  previous: ['next'],
  mute: ['unmute'],
  unmute: ['mute'],
  dock: ['start', 'play'],
};

/** What tells the state that an action makes, and how well: `which windows are open` asks for contacts before positions. */
export const STATES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  open: { contact: 1, door: 0.8, position: 0.7, cover: 0.6, valve: 0.5, lock: 0.3 },
  close: { contact: 1, door: 0.8, position: 0.7, cover: 0.6, valve: 0.5, lock: 0.3 },
  lock: { lock: 1, door: 0.4 },
  unlock: { lock: 1, door: 0.4 },
  on: { on_off: 1, operation: 0.8, energy: 0.3 },
  off: { on_off: 1, operation: 0.8, energy: 0.3 },
  start: { operation: 1, on_off: 0.7, remaining: 0.4 },
  stop: { operation: 1, on_off: 0.7, remaining: 0.6 },
  play: { operation: 1, on_off: 0.7 },
  pause: { operation: 1, on_off: 0.5 },
  dock: { operation: 1 },
  raise: { position: 1, cover: 0.6 },
  lower: { position: 1, cover: 0.6 },
  mute: { volume: 1, on_off: 0.8 },
  set: { position: 0.5 },
};

/** What an action that only such things know is about where nothing else says so: `next` is a song. */
export const KINDS_OF_ACTIONS: Readonly<Record<string, string>> = {
  play: 'media',
  pause: 'media',
  next: 'media',
  previous: 'media',
  mute: 'media',
  unmute: 'media',
  lock: 'lock',
  unlock: 'lock',
  dock: 'vacuum',
};

/** Verbs whose meaning stands in a particle later in the sentence: `turn the lamp off`, `mach das Licht aus`. */
export const PARTICLE_VERBS =
  'turn turning turned switch switching put power flip get shut cut bring have want make click knock can | mach mache schalt schalte stell stelle dreh drehe knips | mets | zet doe draai schakel | fahr fahre zieh lass';

/** What such a particle means. */
export const PARTICLES: readonly string[] = [
  'on: on | an ein | aan',
  'off: off out | aus ab | uit',
  'raise open=0.6: up | hoch rauf auf | omhoog open',
  'lower close=0.6: down | runter herunter zu | omlaag dicht',
];

/** Beginnings of sentences that ask instead of telling to do something. */
export const QUESTION_WORDS =
  'what whats which is are was were how who where when does did has any anybody anyone tell show check read report status query lookup find | was welche welcher welches ist sind wie wer wo wann zeig zeige sag | quel quelle quels quelles est combien montre | que cual cuanto esta estan dime muestra | hoe welke wat | che quale quanto mostra dimmi';
