/**
 * Words for devices. Each line is one meaning: its name, then the words in English, German, French, Spanish, Dutch and Italian. `_` joins
 * the words of a phrase. A meaning in brackets is related, and matches less strongly.
 */
export const DEVICE_WORDS: readonly string[] = [
  'light: light lamp bulb lantern chandelier sconce luminaire lighting spotlight downlight uplight floodlight nightlight spot led candle fixture | licht lichter lampe lampen leuchte leuchten beleuchtung strahler | lumiere eclairage ampoule lampadaire | luz luces lampara bombilla | verlichting | luce luci lampada',
  'strip: strip led_strip light_strip | lichtband lichtleiste | ruban | tira | striscia (light)',
  'plug: plug outlet socket power_point receptacle power_strip | steckdose stecker zwischenstecker | prise | enchufe | stopcontact stekker | presa',
  'switch: switch button dimmer wall_switch relay | schalter taster | interrupteur bouton | interruptor boton | schakelaar knop | interruttore',
  'thermostat: thermostat radiator trv hvac climate_control heating | thermostat heizkorper heizkorperthermostat heizung heizungen | radiateur chauffage | termostato radiador calefaccion | thermostaat radiator verwarming | termosifone riscaldamento (heating)',
  'heating: heating heater heat furnace boiler heat_pump underfloor_heating radiator | heizung fussbodenheizung ofen warmepumpe | chauffage chaudiere | calefaccion | verwarming | riscaldamento (thermostat)',
  'fireplace: fireplace fire hearth stove wood_burner | kamin ofen | cheminee poele | chimenea estufa | haard open_haard | camino stufa (heating)',
  'cooling: air_conditioner air_conditioning air_con aircon ac a_c cooling cooler hvac climate | klimaanlage klima kuhlung | climatisation climatiseur clim | aire_acondicionado | condizionatore climatizzatore (thermostat)',
  'fan: fan ventilator ventilation exhaust extractor blower vent ceiling_fan air_circulator | ventilator lufter luftung | ventilateur ventilation | ventilador | ventilatore ventola (hood)',
  'purifier: purifier air_purifier air_cleaner air_filter | luftreiniger | purificateur | purificador | luchtreiniger | purificatore (fan)',
  'humidifier: humidifier dehumidifier | luftbefeuchter luftentfeuchter | humidificateur deshumidificateur | humidificador',
  'hood: hood range_hood extractor_hood cooker_hood | dunstabzug dunstabzugshaube abzugshaube | hotte | campana | afzuigkap | cappa (fan)',
  'cover: cover covering blind shade shutter curtain drape awning roller_blind roller_shade venetian louver louvre window_covering | rollo rollos rollladen rolladen jalousie jalousien vorhang vorhange markise raffstore gardine | volet store rideau | persiana cortina toldo | gordijn rolluik zonwering | tapparella tenda tenda_da_sole',
  'window: window skylight | fenster dachfenster | fenetre | ventana | raam venster | finestra',
  'door: door | tur haustur eingangstur | porte | puerta | deur voordeur | porta',
  'garage_door: garage_door garage_opener garage_door_opener garage_gate | garagentor | porte_de_garage | puerta_de_garaje | garagedeur (door) (gate)',
  'gate: gate barrier driveway_gate | tor gartentor einfahrt | portail | porton | poort | cancello',
  'lock: lock deadbolt bolt latch door_lock smart_lock | schloss turschloss | serrure verrou | cerradura | slot | serratura (door)',
  'doorbell: doorbell door_bell bell chime intercom entryphone | klingel turklingel gong gegensprechanlage | sonnette interphone | timbre | deurbel | campanello citofono',
  'camera: camera cam cctv webcam video_camera surveillance snapshot footage | kamera uberwachungskamera | camera_de_surveillance | camara | telecamera',
  'alarm: alarm siren security_system burglar_alarm | alarmanlage sirene | alarme | alarma | allarme',
  'smoke: smoke smoke_alarm smoke_detector carbon_monoxide fire_alarm | rauch rauchmelder | fumee detecteur_de_fumee | humo | rookmelder | fumo',
  'leak: leak water_leak flood leakage moisture_alarm | wassermelder leck | fuite inondation | fuga | lek | perdita',
  'motion: motion movement occupancy presence occupied pir motion_sensor | bewegung bewegungsmelder anwesenheit prasenz | mouvement presence | movimiento presencia | beweging aanwezigheid | movimento presenza',
  'contact: contact contact_sensor door_sensor window_sensor reed_switch | fensterkontakt turkontakt | contacto | contatto',
  'charger: charger wallbox evse ev_charger charging_station car_charger electric_car | ladestation ladesaule | borne borne_de_recharge | cargador | laadpaal',
  'solar: solar photovoltaic pv solar_panel | solaranlage photovoltaik | solaire panneau | zonnepanelen | solare',
  'speaker: speaker soundbar stereo sound_system audio hifi music_player loudspeaker amplifier subwoofer radio | lautsprecher musikanlage anlage | enceinte haut_parleur | altavoz | luidspreker | altoparlante cassa (media)',
  'tv: tv television telly projector screen video_player media_player set_top_box streaming_stick monitor | fernseher fernsehen beamer | tele televiseur | televisor tele | televisie | televisore (media)',
  'vacuum: vacuum vacuum_cleaner robot_vacuum robovac hoover roomba vacuum_robot robot floor_cleaner mop | staubsauger saugroboter roboter | aspirateur | aspiradora | stofzuiger | aspirapolvere',
  'mower: mower lawn_mower robot_mower | rasenmaher mahroboter | tondeuse | cortacesped | grasmaaier | tosaerba',
  'washer: washer washing_machine laundry_washer laundry | waschmaschine wasche | lave_linge machine_a_laver lessive | lavadora | wasmachine | lavatrice',
  'dryer: dryer tumble_dryer laundry_dryer laundry | trockner waschetrockner | seche_linge | secadora | droger wasdroger | asciugatrice',
  'dishwasher: dishwasher dishes | geschirrspuler spulmaschine | lave_vaisselle | lavavajillas | vaatwasser | lavastoviglie',
  'fridge: fridge refrigerator freezer icebox cooler | kuhlschrank gefrierschrank | refrigerateur frigo congelateur | nevera frigorifico congelador | koelkast vriezer | frigorifero',
  'oven: oven stove range cooker | backofen ofen herd | four | horno | fornuis | forno',
  'cooktop: cooktop hob cook_surface burner stove | kochfeld herdplatte | plaque_de_cuisson | placa vitroceramica | kookplaat | piano_cottura',
  'microwave: microwave | mikrowelle | micro_ondes | microondas | magnetron',
  'coffee: coffee coffee_maker coffee_machine espresso | kaffee kaffeemaschine | cafe cafetiere | cafetera | koffie koffiezetapparaat | caffe',
  'kettle: kettle teapot tea | wasserkocher | bouilloire | hervidor | waterkoker | bollitore',
  'water_heater: water_heater boiler hot_water immersion_heater | warmwasser warmwasserbereiter durchlauferhitzer | chauffe_eau | calentador | boiler | scaldabagno',
  'valve: valve water_valve tap faucet stopcock water_main water_supply | ventil wasserhahn | vanne robinet | valvula grifo | kraan klep | valvola rubinetto',
  'irrigation: irrigation sprinkler watering drip hose water_lawn | bewasserung rasensprenger sprinkler | arrosage arroseur | riego aspersor | sproeier beregening | irrigazione irrigatore (valve)',
  'pump: pump circulation_pump pool_pump | pumpe | pompe | bomba | pomp | pompa',
];

/** Words for what devices measure, play or report, in the format of DEVICE_WORDS. They seldom name a device. */
export const MEASURE_WORDS: readonly string[] = [
  'sensor: sensor detector probe meter gauge | fuhler melder messgerat | capteur detecteur | detector | sensore',
  'temperature: temperature temp warm warmer hot hotter cold colder cool cooler warmth degree celsius fahrenheit thermometer setpoint | temperatur grad warme | temperature degre | temperatura grado | temperatuur graden | gradi',
  'humidity: humidity humid moisture damp dampness hygrometer | feuchtigkeit luftfeuchtigkeit luftfeuchte feuchte | humidite | humedad | vochtigheid luchtvochtigheid | umidita',
  'illuminance: illuminance lux light_level light_sensor ambient_light daylight | helligkeit lichtsensor | luminosite | luminosidad | lichtsterkte',
  'air_quality: air_quality air pollution co2 carbon_dioxide voc pm25 pm_2_5 dust particulate formaldehyde ozone radon | luftqualitat luft feinstaub | qualite_de_l_air | calidad_del_aire | luchtkwaliteit | qualita_dell_aria',
  'pressure: pressure barometer | luftdruck druck | pression | presion | pressione',
  'energy: energy power electricity consumption watt kwh kilowatt electric usage wattage current voltage meter | strom energie verbrauch leistung stromverbrauch | electricite consommation | electricidad consumo | stroom verbruik | elettricita consumo',
  'battery: battery batteries charge_level accumulator | batterie akku | pile | bateria | batterij accu | batteria',
  'media: media music song track tune album playlist playback player movie film video podcast show episode | musik lied titel film | musique chanson | musica cancion pelicula | muziek nummer liedje | canzone brano',
  'volume: volume loudness sound audio_level loud louder quiet quieter softer | lautstarke ton | son | volumen sonido | geluid | suono',
  'channel: channel station | sender kanal | chaine | canal | zender | canale',
  'soil: soil soil_moisture plant | boden erde pflanze | sol plante | suelo planta | bodem | terreno pianta',
  'rain: rain rainfall raining | regen | pluie | lluvia | pioggia',
  'weather: weather forecast rain sunny umbrella | wetter vorhersage | meteo | tiempo clima | weer | previsioni',
  'calendar: calendar event appointment meeting agenda schedule birthday | kalender termin | calendrier rendez_vous | calendario cita | afspraak | appuntamento',
  'todo: todo to_do list task shopping_list grocery groceries chore reminder errand | liste aufgabe einkaufsliste | liste_de_courses tache | lista tarea compra | boodschappen taak | spesa compito',
  'scene: scene mood ambience atmosphere preset | szene stimmung | ambiance | escena | sfeer | scena',
  'on_off: on_off switched powered',
  'operation: operational_state operation playback pump_running running run_mode charger supply_state busy',
  'remaining: time_left seconds_left remaining left finish finished done ready | fertig | fini | listo | klaar | finito',
];

/** Words for rooms and other places of a home, in the format of DEVICE_WORDS. */
export const PLACE_WORDS: readonly string[] = [
  'living_room: living_room lounge sitting_room family_room front_room parlor parlour den | wohnzimmer stube | salon sejour | sala sala_de_estar | woonkamer huiskamer | soggiorno salotto',
  'kitchen: kitchen kitchenette galley | kuche kueche | cuisine | cocina | keuken | cucina',
  'bedroom: bedroom master_bedroom sleeping_room | schlafzimmer | chambre chambre_a_coucher | dormitorio habitacion | slaapkamer | camera_da_letto',
  'bathroom: bathroom bath washroom restroom toilet wc loo lavatory powder_room ensuite shower_room | badezimmer bad klo gaste_wc | salle_de_bain salle_de_bains toilettes | bano aseo | badkamer | bagno',
  'hall: hall hallway corridor passage entrance entryway entry foyer vestibule lobby landing | flur diele gang eingang | couloir entree | pasillo entrada | hal overloop | corridoio ingresso',
  'dining_room: dining_room dining_area dining | esszimmer | salle_a_manger | comedor | eetkamer | sala_da_pranzo',
  'office: office study home_office workroom workspace | buro arbeitszimmer | bureau | oficina despacho estudio | kantoor werkkamer | ufficio studio',
  'kids_room: kids_room children_room nursery playroom kid_bedroom kids_bedroom child_room baby_room | kinderzimmer babyzimmer | chambre_d_enfant | cuarto_de_los_ninos | kinderkamer | cameretta (bedroom)',
  'guest_room: guest_room guest_bedroom spare_room spare_bedroom | gastezimmer | chambre_d_amis | logeerkamer | camera_degli_ospiti (bedroom)',
  'garage: garage carport | garage | garaje | autorimessa box',
  'cellar: cellar basement | keller | cave sous_sol | sotano bodega | kelder | cantina seminterrato',
  'attic: attic loft roof_space | dachboden dachgeschoss speicher | grenier combles | atico desvan | zolder | soffitta mansarda',
  'garden: garden yard backyard back_yard front_yard lawn courtyard grounds | garten hof vorgarten | jardin cour | jardin patio_trasero | tuin achtertuin | giardino cortile (outside)',
  'terrace: terrace patio deck porch veranda balcony pergola | terrasse balkon | balcon | terraza porche | terras | terrazza balcone (outside)',
  'outside: outside outdoor outdoors exterior | draussen aussen | dehors exterieur | fuera exterior | buiten | fuori esterno',
  'laundry_room: laundry_room utility_room laundry mud_room | waschkuche hauswirtschaftsraum | buanderie | lavadero | washok bijkeuken | lavanderia',
  'pantry: pantry larder storage storeroom store_room closet cupboard wardrobe | vorratskammer abstellraum kammer schrank | placard cellier debarras | despensa armario trastero | berging kast | dispensa ripostiglio armadio',
  'stairs: stairs staircase stairwell stairway steps | treppe treppenhaus | escalier | escalera | trap | scale',
  'workshop: workshop shed hobby_room tool_shed barn | werkstatt schuppen hobbyraum | atelier abri | taller cobertizo | schuur werkplaats | officina capanno',
  'pool: pool swimming_pool hot_tub jacuzzi spa | schwimmbad becken whirlpool | piscine | piscina | zwembad',
  'gym: gym fitness_room home_gym exercise_room | fitnessraum | salle_de_sport | gimnasio | palestra',
  'cinema: cinema theater theatre home_theater media_room movie_room | heimkino kino | salle_de_cinema | cine',
  'driveway: driveway drive parking | einfahrt auffahrt parkplatz | allee | oprit | vialetto',
  'upstairs: upstairs first_floor upper_floor top_floor upper_level | obergeschoss oben | etage en_haut | arriba planta_alta | boven verdieping | piano_superiore',
  'downstairs: downstairs ground_floor ground lower_floor main_floor lower_level | erdgeschoss unten parterre | rez_de_chaussee en_bas | abajo planta_baja | beneden begane_grond | piano_terra',
];

/** Words for settings and states, and for subjects of the hub itself, in the format of DEVICE_WORDS. */
export const QUALITY_WORDS: readonly string[] = [
  'brightness: brightness bright brighter dim dimmer darker dimming level intensity luminosity | helligkeit heller dunkler dimmen | luminosite tamiser | brillo | helderheid dimmen | luminosita',
  'color: color colour hue tint red green blue yellow orange purple violet pink white cyan magenta color_temperature | farbe rot grun blau gelb | couleur rouge vert bleu jaune | rojo verde azul amarillo | kleur rood groen blauw geel | colore rosso giallo',
  'position: position percent_open tilt slat lift half_open halfway | stellung lamellen | posicion | positie stand | posizione',
  'speed: speed faster slower fan_speed strength | geschwindigkeit stufe | vitesse | velocidad | snelheid | velocita',
  'mode: mode program programme cycle preset setting | modus programm | programme | modo programa | programma | modalita',
  'time: time timer minute hour duration schedule later delay | zeit timer minuten | minuterie | temporizador minutos | tijd minuten | minuti',
  'person: user person someone somebody people everyone family me owner | benutzer jemand | personne quelqu_un | usuario | iemand | persona utente',
  'notify: notify notification alert message announcement push sms text_message announce warn inform | nachricht benachrichtigung melden | notification avertir | notificacion mensaje avisar | melding bericht | notifica messaggio avviso',
  'image: picture image photo snapshot photograph | bild foto | imagen | afbeelding | immagine',
  'text: text ocr read_text letters | text schrift | texte | texto | testo',
  'face: face faces vision recognize recognise detect | gesicht | visage | cara rostro | gezicht | volto',
  'history: history trend past yesterday last_week average statistics chart log record | verlauf gestern durchschnitt | historique hier | historial ayer | geschiedenis gisteren | storico ieri',
  'audit: audit journal activity log who_did record | protokoll | activite | registro | logboek',
  'add: add commission pair join enroll setup install onboard connect new | hinzufugen koppeln anlernen verbinden | ajouter appairer | anadir emparejar agregar | toevoegen koppelen | aggiungere abbinare',
  'remove: remove delete decommission forget unpair drop uninstall | entfernen loschen | supprimer retirer | eliminar quitar borrar | verwijderen | rimuovere eliminare',
  'rename: rename name call label nickname alias | umbenennen benennen | renommer nommer | renombrar nombrar | hernoemen noemen | rinominare',
  'room: room area zone place | zimmer raum bereich | piece chambre zone | habitacion zona | kamer ruimte | stanza zona',
  'floor: floor storey story | stockwerk etage geschoss | etage | planta piso | verdieping | piano',
  'device: device gadget appliance equipment node accessory hardware | gerat | appareil | dispositivo aparato | apparaat toestel',
  'share: share multi_admin other_app apple google alexa ecosystem commissioning_window | teilen | partager | compartir | delen | condividere',
  'access: token permission access grant right credential login invite guest | zugang berechtigung recht | acces jeton droit | acceso permiso | toegang | accesso permesso',
  'approve: approve approval confirm consent allow | genehmigen freigeben bestatigen | approuver | aprobar | goedkeuren | approvare',
  'rule: rule policy condition forbid limit guard | regel | regle | regla | regola',
  'automation: automation agent routine automate trigger when whenever | automatisierung ablauf | automatisation | automatizacion | automatisering | automazione',
  'hub: hub mesh node peer network neighbour neighbor gateway bridge | zentrale netz | reseau | red | netwerk | rete',
  'diagnostics: diagnostics health signal problem fault error troubleshoot reachable unreachable offline online status | zustand fehler | etat panne | estado fallo | storing toestand | stato guasto',
  'identify: identify blink find locate beep which_one where | finden blinken | identifier trouver | identificar | vinden | identificare',
  'job: job progress background running_task | auftrag fortschritt',
];

/**
 * Phrases for actions in requests and tool titles. Each line begins with an action, or with several actions such as `lower set=0.6`, where
 * 0.6 is a certainty. The phrases follow in English, German, French, Spanish, Dutch and Italian. `_` joins the words of a phrase.
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

/** Phrases in tool titles that mean something other than their words, in the format of ACTION_PHRASES. */
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

/** For each requested action, other actions that can fulfil it, with their strength: a sprinkler turns on when its valve opens. */
export const RELATED_ACTIONS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
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

/** For each action, the actions that undo or prevent it. A search for an action excludes tools for these. */
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

/** For each action, the readings that show its result, with their strength. For `open`, a contact is better than a position. */
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

/** The kind of device that an action implies: `next` implies a media player. */
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

/** Verbs whose meaning depends on a particle later in the sentence: `turn the lamp off`, `mach das Licht aus`. */
export const PARTICLE_VERBS =
  'turn turning turned switch switching put power flip get shut cut bring have want make click knock can | mach mache schalt schalte stell stelle dreh drehe knips | mets | zet doe draai schakel | fahr fahre zieh lass';

/** The particles of particle verbs, with their meanings. */
export const PARTICLES: readonly string[] = [
  'on: on | an ein | aan',
  'off: off out | aus ab | uit',
  'raise open=0.6: up | hoch rauf auf | omhoog open',
  'lower close=0.6: down | runter herunter zu | omlaag dicht',
];

/** Words with which questions begin. */
export const QUESTION_WORDS =
  'what whats which is are was were how who where when does did has any anybody anyone tell show check read report status query lookup find | was welche welcher welches ist sind wie wer wo wann zeig zeige sag | quel quelle quels quelles est combien montre | que cual cuanto esta estan dime muestra | hoe welke wat | che quale quanto mostra dimmi';

/** Words that a search ignores. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  [
    'make makes made making turn put get bring the a an to in of for and or is it its at please my me i you your our us we can could would will should shall with from by be been am are was were this that these those there here some so too just now right hey hi hello ok okay thanks thank want need like let get go do does did have has had if then than as into onto over on off up down out about hows whats what which who whom how when where why t s ll ve re d m im id lets gonna wanna kindly quickly again still very really bit little one ones any anything something currently today tonight don doesn didn isn aren wasn won shouldn couldn wouldn never',
    'mach mache stell stelle dreh der die das den dem des ein eine einen einem einer im in am an auf aus ist sind war bitte mir mich ich du wir und oder mit von zu zum zur bei fur wie was wo wer mal noch nicht es jetzt gerade hier dort da kannst konntest soll',
    'mets le la les l un une des du de d au aux et ou est sont dans sur pour par avec ce cette mon ma mes moi je tu il y en s plait te vous',
    'el los las una unos unas del al y o es esta en con por favor mi mis me se lo su',
    'zet doe het een de van op bij met en is zijn er mijn aub alsjeblieft graag ik je',
    'il lo gli i uno e ed di da in con su per che mio mia favore',
  ]
    .join(' ')
    .split(' '),
);
