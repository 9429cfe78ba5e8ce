/**
 * The words of a lookupID: 4096 of the EFF's large word list for passphrases, of three to eight
 * letters. Words that could hurt or embarrass the person who reads them out at a till are left out,
 * and brands.
 *
 * A phrase that was given out stays valid whatever becomes of this list: phrases are stored, never
 * taken apart.
 *
 * Source: Electronic Frontier Foundation, https://www.eff.org/dice, CC BY 3.0 US; a selection of
 * the original.
 */
export const PHRASE_WORDS: readonly string[] = `
abacus abdomen abide abiding ability ablaze able abreast abridge abroad absence absolve abstain absurd
accent acclaim account acetone aching acid acorn acquire acre acrobat acronym acting action activate active
actress acts acutely aerobics aerosol afar affair affirm affix afford affront aflame afloat afoot aged
ageless agency agenda agent agile agility aging agreed aground ahead ahoy aide aim ajar alarm album alfalfa
algebra alias alibi alike alive almanac almost aloe aloft aloha alone aloof alphabet alright altitude alto
aluminum alumni always amaze amber ambiance ambition amends amenity amiable amid amigo amino amiss ammonia
among amount ample amplify amply amuck amulet amused amuser amusing anagram anatomy anchor anchovy ancient
android anew angelic angled angler angles angling angular animal animate animator anime ankle annex annotate
annuity another antelope antennae anthem anthill antics antihero antiques antler antonym anvil anybody
anyhow anymore anyone anytime anyway anywhere aorta appear appease appetite applaud applause apple applied
apply approach approve apricot april apron aptly aqua aqueduct area arena argue arise armband armchair
armful armhole armless armoire armored armory armrest army aroma arose around arrange array arrival arrive
art ascend ascent ashamed ashen ashes ashy aside askew asleep aspect aspire astound astride astute atlas
atom atop atrium attach attain attempt attest attic attire attitude auction audible audibly audience audio
audition august author avatar avenue average avert aviation aviator avid avoid await awaken award aware
awhile awkward awning awoke awry axis babble babied baboon backdrop backed backer backing backlit backlog
backpack backroom backup backyard bacon badge badland badly baffle bagel bagful baggage bagged baggie
bagging baggy bagpipe baguette baked bakery bakeshop baking balance balcony balmy bamboo banana banish banjo
bankbook banked banker banking banknote banner banshee banter barbecue barbell barber barcode barge barista
baritone barley barman barn barrack barrel barrier basics basil basin basis basket batboy batch bath baton
bats battery batting battle bauble blabber blade blah blank blazer blazing bleach bleep blemish blend blimp
bling blinked blinker blinks blip blissful blitz blizzard blog blooper blot blouse blubber bluff bluish
blunt blurb blurred blurry blurt blush boaster boat bobbed bobbing bobble bobcat bobsled bobtail bogged
boggle bogus boil bolster bolt bonanza bonded bonding boned bonfire bonnet bonsai bonus bony book booted
booth bootie booting boots borax boring borough boss botanist botany both bottle bottom bounce bouncy bovine
boxcar boxer boxing boxlike boxy breach breath breeder breeze breezy brewery brewing briar brick bride
bridged brigade bright brim bring brink brisket briskly bristle brittle broaden broadly broiler broken
broker bronco bronze brook broom brought browse brunch brunt brush bubble bubbly bucked bucket buckle
budding buddy budget buffalo buffed buffer buffing buggy bulb bulge bulgur bulk bulldog bullfrog bullion
bullish bullpen bullseye bunch bundle bungee bunion bunkbed bunkmate bunny bunt bush busily busload buzz
cabana cabbage cabbie cable caboose cache cackle cacti cactus caddie caddy cadet cadmium cage cahoots cake
calamari calcium calculus caliber calm caloric calorie calzone cameo camera camper campfire camping campsite
campus canal canary cancel candied candle candy cane canine canned canning cannon cannot canola canon canopy
canteen canyon capable capably cape capital capitol capped capsize capsule caption captive capture caramel
carat caravan carbon carded cardiac cardigan caress cargo caring carless carload carnage carol carpool
carport carried carrot carry cartel carton cartoon carve carving carwash cascade case cash casing casino
cassette catalog catalyst catapult catcall catcher catchy caterer catfish catlike catnap catnip catsup
cattail cattle catty catwalk caucus causal cause causing caution cavalry caviar cedar celery census ceramics
ceremony certify chain chair chalice chamber champion chance change channel chant chaos chaps chapter
charger chariot charity charm charred charter chase chasing chatter chatty cheddar cheek cheer cheese cheesy
chef chemist cherub chess chewer chewing chewy chief chili chill chimp chip chirpy chivalry chive choice
chomp chooser choosy chop chosen chowder chrome chubby chuck chug chummy chump chunk churn chute cider
cilantro cinch cinema cinnamon circle circus citable citadel citation citizen citric citrus city civic civil
clad claim clambake clamor clamp clang clapped clapper clarify clarinet clarity clash clasp class clatter
clause claw clay clean clear cleat cleaver cleft clench clerk clever clicker client climate cling clinic
clip clique cloak clobber clock clone cloning closure clothes cloud clover clubbed clump clumsy clunky
clutch clutter coach coastal coaster coat coauthor cobalt cobbler cobweb cocoa coconut cod coexist coffee
cogwheel coherent coil coke cola cold coleslaw coliseum collage collar collide collie colony colt coma come
comfort comfy comic coming comma commence commend comment commerce commode common commute company compare
compel compile comply compost compound compress comrade concave conceal concept concert conch concise
conclude concrete concur conduit cone confetti confirm conform congrats congress conical conjure consent
console constant consult contact contend contents contest context contort contour control convene convent
cope copied copier copilot coping copious copper copy coral cork corncob cornea corned corner cornhusk corny
corral correct corridor corrode corsage corset cortex cosmic cosmos cost cottage cotton couch cough could
country county courier cover coveted coyness cozily cozy cradle crafter crafty cramp crane cranial cranium
crank crate crave craving crayon creamed creamer crease create creation creative creature credit creed creme
crepe crept crescent crested crevice crewman crib cricket crimp crimson crinkle crinkly crisped crisply
crispy criteria critter croak crock croon crop cross crouch crouton crowbar crowd crown crucial crudely
crumb crummy crumpet crunchy crushed crusher crust crux cryptic crystal cube cubical cubicle cuddle cuddly
cufflink culinary culprit culture cupcake cupid curable curator curdle cure curfew curing curled curler
curling curly curry curtain curtly curtsy curve curvy cushy cusp custard custody customs cut cycle cyclic
cycling cyclist cymbal dab dad daffodil daily dainty dairy daisy dance dancing dander dandy dangle dares
darkish darling dart dash data dating dawdler dawn daybed daybreak daycare daydream daylight daylong dayroom
daytime dazzler dealer dealing dealt dean debate debit debrief debug debunk decade decaf decal decay decency
decent decibel decimal deck decline decode decoy decree deduce deduct deed deem deepen deeply default defeat
defense defiant defile define deflate defog defrost deftly defuse defy degree deity delay delete delta
deluge deluxe denial denim denote dense density dental dentist denture depict deplete deploy depress depth
deputy derail derby derived deserve desktop despite destiny detail detract deuce devalue deviate device
devotee diagram dial diary dice dicing dictate dig diligent dill dilute dime dimly dimmed dimmer dimness
dimple diner dingbat dinghy dingy dining dinner diocese dioxide diploma dipped dipper dipping disarm disband
discard discern discuss dish disjoin disk dislike dismiss display dispose dispute disrupt distant distill
distort ditch ditto divided dividend diving dizzy doable docile dock document dodge dodgy doily doing dole
dollar dollop dolly dolphin dominoes donated donation donator donor donut doodle doorbell doorknob doorman
doormat doorpost doorstep doorway doozy dorsal dosage dotted dove down doze drab drained drainer drank
drapery drastic draw dreamt dreamy dreary drench dress drew dribble dried drier drift driller drippy driven
driver driveway driving drizzle drizzly drone drool droop dropbox droplet dropout dropper drove drum dry
dubbed duchess ducking ducky duct dude duffel dugout duh duke duller duly duo duplex durable durably
duration during dusk dust dutiful duty duvet dwelled dweller dwindle dynamic dynasty each eagle earache
eardrum earflap earful earlobe early earmark earmuff earphone earplugs earring earshot earthen earthly
earthy earwig easeful easel easiest easily easing easter eastward eatable eaten eatery eating eats ebay
ebony ebook ecard echo eclair eclipse ecology economy edge edging edgy edition editor educator eel effects
effort egging eggnog eggplant eggshell egotism either elastic elated elbow elderly eldest elephant elevate
elevator eleven elf eligible elixir elk ellipse elm elope eloquent elude elusive elves email embark embassy
ember emblaze emblem embody emboss emcee emerald emit emote emotion empathy emperor emphasis employee
emporium empower emptier empty emu enable enamel enclose encode encore encrust encrypt ended ending endless
endnote endorse endpoint energize energy engaged engine engorge engross engulf enhance enjoyer enrich enroll
ensure entail entire entitle entity entree entrust entryway entwine envelope envision envoy enzyme epic
epilogue epiphany episode equal equate equation equator equinox equity erased eraser erasure errand errant
erratic error erupt espresso esquire essay essence estate estimate etching eternal ethanol ether ethics
evacuee evade evaluate evasion evasive even everyday everyone evidence evident evoke evolve exact exalted
example excess exchange exclaim exclude excuse exert exes exhale exhaust exit exodus expand expanse expend
expenses expert expire explain explode explore exponent expose express extent exterior extras extrude fable
fabric facelift faceted facial facing faction factoid factor factual faculty fade fading failing falcon fall
false falsify fame familiar family famine fancied fancy fanfare fanning fantasy fastball faster fasting
faucet favored favorite fax feast federal fedora feeble feed feel feisty feline femur fence fencing fender
ferment ferret ferris ferry fervor fester festive fetch fiber fiction fiddle fidgety fifteen fifth fiftieth
fifty figment figure filing filled filler filling film filter finale finalist finalize finally finance finch
finer finicky finite finless finlike fit five flagman flagpole flagship flail flakily flaky flame flanked
flannels flap flaring flashy flask flatbed flatly flatten flattop flatware fled fleshed flick flier flight
flinch fling flint flip flirt float flock flop floral florist floss flyable flyaway flyer flying flyover
foam fog foil folic folk follow fondly fondue font food footage football footbath footer footgear foothill
foothold footing footman footnote footpad footpath footrest footwear footwork fossil foster founder fountain
fox foyer fraction fragile fragrant frame framing frantic frayed fraying frays freebee freebie freedom
freehand freeing freely freeway freight frenzy fresh friday fridge friend frill fringe fritter frolic from
front frosted frosty froth frown frozen fructose fruit frying gab gaffe gaining gains gala galleria gallery
galley gallon galore game gaming gamma gander gangly gangway gap garage garbage garden gargle garland garlic
garment garnet garnish garter gas gating gauging gauze gave gawk gazing gear gecko geek geiger gem generic
genre gently gents geology geometry geranium gesture getaway getting getup giant giblet giddily giddy gift
gigabyte giggle giggly gilled gills girdle giveaway given giver giving gizmo gizzard glacial glacier glade
gladly glamour glance glare glaring glass glazing gleeful glider gliding glimmer glimpse glisten glitch
glitter glitzy gloater gloomy glorify glory gloss glove glowing glowworm glucose glue gluten gnarly gnat
goal goes goggles going goldfish goldmine golf goliath gondola gone gong good gooey goofball goofy goon
gopher gorged gosling gossip gotten gout gown grab graceful graded grader gradient grading graduate grafted
grain granddad grandkid grandly grandma grandpa grandson granite granny granola grant granular grape graph
grapple grasp grass gratify grating gravel gravity gravy gray grazing greedy green greeter grew grid grill
grimace grime grimy grinch grip gristle grit groggy groom groove groovy ground grouped grout grove grower
growing growl grub grudge gruffly grumble grumbly grunge grunt guidance guide guiding guise gulf gully gulp
gumball gumdrop gumming gummy gurgle guru gush gusto gusty guy guzzler habitant habitat hacksaw had haiku
half halogen halt halved halves hamlet hammock hamper hamster handbag handball handbook handcart handclap
handed handful handheld handled handler handmade handoff handrail handsaw handset handwork hangout hangup
hankie hanky happier happily happy harbor hardcopy hardhat hardly hardware hardwood hardy harmony harness
harpist harvest hash hassle haste hastily hasty hatbox hatchet haven hazelnut hazily hazy headband header
headgear heading headlamp headrest headroom headset headway heap heat heave heavily heaving hedge hedging
hefty helium helmet helper helpful helping helpline hence herald herbal herbs heritage heroics heroism
herring herself hertz hexagon hexagram hubcap huddle huff hug hula hull human humble humbly humid humming
hummus humorist hunger hungry huntsman hurled hurler hurling hurray hurried hurry husband hush husked hut
hybrid hydrant hydrogen hyphen ice iciness icing icky icon icy ideally identify ideology idly igloo ignition
iguana image imaging imitate impart implant implode imply impose impound imprint improve impulse iodine
iodize ion iron isotope issue issuing italics item ivory ivy jab jackal jacket jackpot jalapeno jam janitor
january jarring jasmine jaunt java jawed jawline jaws jaybird jazz jeep jellied jelly jersey jester jet
jiffy jigsaw jingle jinx jitters jittery job jockey jogger jogging joining jolly jolt jot jovial joyous
joyride joystick jubilant judge judo juggle jugular juice juicy jukebox july jumble jumbo jump junction june
junior juniper jurist juror jury justice justify justly kabob kangaroo karaoke karate karma kebab keenly
keep keg kelp kennel kept kerchief kettle kick kiln kilobyte kilogram kilowatt kilt kimono kindle kindly
kindred kinetic kinfolk king kinship kinsman kitchen kite kitten kitty kiwi knapsack knee knelt knoll koala
kooky kosher krypton kudos kung labored laborer labrador ladder ladies ladle ladybug lagged lagging lagoon
lair lake lance landed landfall landing landline landlord landmark landmass landside lanky lantern lapdog
lapel lapped lapping laptop large lark lasso last latch late latter launch launder laundry laurel lavish
lazily lazy left legacy legal legend legged legible legibly lego legroom legume legwork lemon lend length
lens lent leotard lesser letdown letter lettuce level levers liberty library lid life lifter lifting liftoff
likely liking lilac lilly lily limb limeade limes limit limping line lingo lining linked linseed lint lion
lip liquefy liqueur liquid lisp list litmus litter little livable lived lively liver lividly living lizard
lucid luckily lugged lullaby lumber lumping lumpish lunar lung lure lushly luster luxury lyrics macaw mace
machine magenta magical magma magnify majesty making malt mama mammal manager manatee mandate manger mango
manhole manila mankind manly manmade manned manor mantis mantra manual many map marbled marbles march margin
marina marine marital marlin maroon married marrow marry marshy mascot mashed mashing masses massive mastiff
matador matcher math matrix matron matted matter mauve maximum maybe mobile mocha mocker mockup modify
modular module moisten molar mold mollusk mom monday monitor monsoon monthly moody moonlit morale morally
morse mosaic mossy most motion motive motor motto mounted mouse mousy mouth movable move movie moving mower
mowing much mulch mule mulled mullets mumble mummy mundane muppet mural murky museum mushily mushy music
musky mustang mustard muster musty mutable mute mutual myself mystify myth nacho nail name naming nanny nape
napkin napped napping narrow native natural nature navy nearby nearest nearly neatly nebula nectar negate
neon nephew nervy nest net neuron neutron never next nibble niece nifty nimble nimbly ninja ninth nucleus
nugget nullify number numbly numeral numeric nursery nursing nurture nutlike nutmeg nutty nuzzle nylon oaf
oak oasis oat object obliged oblong oboe obscure obtain obtuse obvious occupy ocean ocelot octagon octane
october octopus oil oink okay old olive omega omen ominous omit onboard ongoing onion online only onset
onshore onstage onto onward onyx oops ooze oozy opacity opal open operate opossum opt osmosis other otter
ouch ought ounce outage outback outbid outcome outer outfit outgrow outing outlast outlet outline outlook
outmost outpost outpour output outrank outsell outward outwit oval oven overact overall overbid overdue
overfed overlap overlay overpay overrun overtly overuse owl oxford oxidant oxidize oxygen oyster ozone paced
pacific pacify padded padding paddle padlock pager paging pajamas palace palm paltry panama pancake panda
panning panther pantry papaya paper paprika papyrus parade paradox parcel parched pardon parish parka
parking parkway parlor parrot parsley parsnip partake parted parting partly partner party passage passing
passion passive pasta pasted pastel pastime pastor pasture pasty patchy path patient patio patriot patrol
paver paving pawing payable payback payday payee payer paying payment payroll pebble pebbly pecan pectin
pelican pellet pelt pencil pendant pending pennant penny penpal pension pep percent perch perfume perish
pesky peso pester petal petite petri petted petunia phoenix phonics phony photo phrase placard placate plank
planner plant plasma plaster plastic plated plating platter player playful playing playoff playpen playset
plaza pleat pledge plenty pliable plod plop plot plow ploy pluck plug plural plus plywood pod poem poet pogo
pointed pointer pointy poise poking polar polish polka polo polygon polymer poncho pond pony popcorn poplar
popper poppy popular pork portal portion portly poser posh posing possum postage postal postbox posted
poster posting posture pouch pounce pound pouring pout powdery power pox prance pranker precise precook
precut predict preface prefix pregame prelaw prelude premium prepaid prepay preplan preppy preset preshow
presoak press presume preteen pretext pretty pretzel prevail prevent preview prewar primal primary primer
primp print prior prism privacy private prize problem process prodigy produce product profile progeny
program prone prong pronto proofs propose props prorate proton proud proved proven proving provoke prowess
prowler proxy prune pruning pry public pueblo pug pull pulp pulsate pulse puma pumice punch pupil puppet
puppy purely purge purging purify purist purity purple purr purse pursuit pusher pushing pushpin pushy
putdown putt puzzle pyramid python quail quake quaking qualify quality qualm quantum quarry quartet quench
query quicken quickly quiet quill quilt quintet quirk quit quiver quote race racing racoon radar radial
radio radish raffle raft ragweed raider railcar railing railway raisin rake raking rally ramble ramp ramrod
ranch random ranged ranger ranging ranked ranking ranting rants rare rarity rascal rasping raven ravine
raving ravioli reach reactor ream reapply reason reawake rebate rebirth reboot reborn rebound rebuff rebuild
rebuilt recall recant recast recede recent recess recital recite reclaim recluse recoil recolor recopy
record recount recoup rectify reenact reenter reentry referee refill refined reflex reflux refocus refold
refract refrain refresh refried refund refusal refuse refute regain regalia regally reggae regime region
regress regroup regular reheat rehire reissue rejoice rejoin related relax relay relearn release reliant
relic relieve relight relish relive reload relock rely remake remark remarry rematch remedy remix remnant
remold remote removal removed remover rename renewal renewed rental rented renter reoccur reopen reorder
repaint repair repave repeal repent replace replay replica reply repose repost reprint reprise reps request
require reroute rerun resale rescuer reseal resend reset reshape reshoot residue resize resort respect
result resume retail retake rethink retinal retired retiree retold retool retouch retrace retract retrain
retread retreat retrial retry return retying retype reunion reunite reuse reveal reveler revenue reverb
revered reverse revert revise revisit revival reviver revoke revolt reward rewash rewind rewire reword
rework rewrap rewrite rhyme ribbon ribcage rice riches richly rickety ricotta ridden ride riding rifling
rift rigging rigid rigor rimless rimmed rind rink rinse rinsing ripcord ripping ripple riptide rise rising
risk risotto ritzy rival riveter roamer roaming roast robbing robe robin robust rocker rocket rocking rocky
roman romp rope roping roster rosy rotunda roundup routine routing rover roving royal rubbed rubber rubbing
rubble ruby rudder rug rule rumble rummage rumor rundown runner running runny runt runway rural ruse rush
rust rut saddled safari safely saffron saga sage sagging saggy said saint sake salad salami salary saline
salon saloon salsa salt salute salvage same sample sandal sandbag sandbar sandbox sanded sanding sandlot
sandpit sandy sank santa sapling sappy sarcasm sardine sash sassy satchel satin satisfy saucy sauna savanna
saved savings savor say scale scaling scallop scanner scant scarf scarily scenic scheme scholar science
scion scoff scone scoop scooter scope scorch scored scorer scoring scotch scoured scouts scrap scratch
scrawny screen scribe script scroll scruffy scrunch scuba scuff scuttle second secrecy secret sector secular
sedan sedate segment seismic seldom self seltzer seminar senate senator send senior sepia sequel series
serpent serve service serving sesame setback setting settle setup seventh seventy shabby shaded shadily
shading shadow shakily shaking shaky shale shallot shallow shampoo shanty shape shaping share sharper
sharpie sharply shawl sheath shed sheep sheet shelf shell shelter shelve sherry shield shifter shifty
shimmer shimmy shindig shine shingle shining shiny ship shirt shone shopper shore shorten shorter shortly
shorts shorty shout showbiz shower showing showman shown showy shrank shrill shrimp shrine shrink shrivel
shrubs shrug shudder shuffle shush shut shy sibling siding sierra siesta sift sighing silent silica silicon
silk silo silt silver simile simple simply sincere singer singing single sinuous sip siren sister sitcom
sitter sitting sixfold sixteen sixth sixties sizable sizably size sizing sizzle skater skating skeptic
sketch skewed skewer skied skier skies skiing skilled skillet skimmed skimmer skipper skirt skittle skyline
skyward slab slacked slacks slashed slate slather sled sleek sleep sleet sleeve slept sliced slicer slicing
slick slider sliding slinky slip slit sliver slogan sloped sloping slot slush smartly smasher smashup smile
smirk smith smitten smock smolder smooth smudge smudgy snack snagged snaking snap snazzy sneeze sniff
snippet snooze snoring snorkel snout snowcap snowman snowy snub snuff snuggle snugly speak species specked
specks speech speed speller spender spent sphere sphinx spider spied spiffy spilt spinach spinal spindle
spinner spinout spiny spiral spirits splashy spleen splice splurge spoils spoken sponge spongy sponsor spool
spoon spore sports sporty spotted spotter spotty spout sprain sprang sprawl spray spree sprig spring sprint
sprite sprout spruce sprung spry spud sputter squad squash squeak squeeze squid squint squire squirt squishy
stable stack stadium staff stage staging stained stamina stammer stamp stand stank staple starch stardom
staring stark starlet starlit starry starter startle startup starved stash state static statue stature
status statute stays steam steed steep stellar stem stencil step stereo stew stick stiffen stiffly stilt
stimuli stinger stingy stipend stir stitch stock stoic stoke stole stoning stony stood stool stoop stopped
stopper storage storm stout stove stowing stratus straw stray streak stream street strep stress stretch
strewn strict stride strike strive strobe strode strudel strum strung strut stubbed stubble stubbly stucco
stuck student studied studio study stuffed stumble stunned stunner stunt sturdy styling stylist stylus suave
subject sublet sublime subpar subplot subside subsidy subsoil subtext subtly subtype suburb subway subzero
such suction sudden sudoku suds suffice suffix sugar suggest suing suitor sulfate sulfide sulfite sulfur
sultry supper supply support supreme surely surface surfer surging surname surpass surplus surreal survey
survive sushi suspend swan swarm sway sweat sweep swell swept swerve swifter swiftly swimmer swinger swipe
swirl switch swivel swizzle swooned swoop swoosh swung symptom synapse synergy syrup system tabby tables
tablet tacking tackle tacky taco tactful tactics tactile tadpole tag take taking talcum tall talon tamale
tamer tamper tank tanned tannery tanning tapered tapioca tapping taps target tarmac tarnish tarot tartar
tartly task tassel taste tasting tasty tattle tattoo tavern thank that thaw theater thee theme thermal
thermos these thesis thicken thicket thigh thimble thing think thinly thinner thirsty thirty thorn those
thread thrift thrill thrive thrower thud thumb thus thyself tiara tibia tidal tidbit tidings tidy tiger
tighten tightly tigress tile tiling till tilt timid timing timothy tinfoil tingle tingly tinker tinsel tint
tinwork tiny tipoff tipped tipper tipping tiptop tiring tissue trace tracing track tractor trade trading
traffic train traps travel tray treat treble tree trekker tremble tremor trench trend triage trial tribune
tribute triceps trickle tricky trident tried trifle trilogy trimmer trinity trio tripod triumph trivial
trodden trophy tropics trough trout trowel truce truck truffle trunks trustee truth try tubular tuesday tug
tuition tulip tumble turban turbine turf turkey turret turtle tusk tutor tutu tux tweak tweed tweet twelve
twenty twice twiddle twig twine twins twirl twisted twister twisty twitch tycoon tying tyke ultra umpire
unable unaired unawake unaware unbaked unbend unbent unblock unboxed uncanny unchain uncheck uncivil unclad
unclasp uncle unclip uncloak unclog uncork uncover uncross uncrown uncured uncut undated undergo undoing
undone unearth unease uneasy uneaten unequal uneven unfair unfazed unfiled unfixed unfold unglue unhappy
unheard unhinge unhook unicorn unified unifier unify union unison unit unknown unlaced unlatch unleash
unless unlined unlit unlucky unmade unmixed unmoved unnamed unnerve unpack unpaid unpaved unplug unquote
unrated unread unreal unripe unroll unsaid unsaved unscrew unseen unsent unsnap unsold unstuck unsure
unsworn untaken untamed untaxed untidy untie until untimed untold untried untrue untruth untwist untying
unused unusual unvocal unwary unweave unwind unwired unworn unwound unwoven unzip upbeat update upfront
upgrade upheld uphill uphold upload upon upper upright upriver uproot upscale upside upstage upstart upstate
upswing uptake uptight uptown upward upwind uranium urban urchin urgency urgent urging usable usage useable
used user usher usual utensil utility utilize utmost utopia utter vacancy vacant vacate vaguely valiant
valid valley value vanilla vanish vanity vantage varied variety various varmint varnish varsity varying
vastly vegan veggie velvet vending vendor venture venue venus verbose verdict verify verse version versus
very vessel vest veteran veto viable vibes victory video viewer viewing village vintage violet violin
virtual visa viscous visible visibly vision visitor visor vista vitally vividly vocally voice voicing void
volley voltage volumes voter voting voucher vowed vowel voyage wad wafer waffle waged wager wages waggle
wagon wake waking walk walnut walrus waltz wand wannabe wanted wanting wasabi washday washed washer washing
washout washtub wasp wasting watch water waving wavy whacky wham wharf wheat whiff whinny whoever whole
whoopee whoops why wick widely widen widget width wielder wifi wildcat wilder wildly willed willing willow
wilt wince wincing wind wing winking winner winter wipe wired wiring wiry wisdom wise wish wispy wistful
wizard wobble wobbly wok wolf woof wooing wool woozy word work worried worrier worry worst woven wow wrangle
wreath wrench wriggle wriggly wrinkle wrinkly wrist writing written wronged wrongly wrought yam yanking
yapping yard yarn yeah yearly yeast yelp yen yield yin yippee yodel yoga yogurt yonder yoyo yummy zap
zealous zebra zen zero zesty zipfile zipping zippy zips zodiac zone zoning zoology zoom
`
  .trim()
  .split(/\s+/);
