"""Words too common to subscribe to, for the languages that come with a list.

Modest lists of function words, as surface forms. Every other language starts with none; a profile can be
given its own set.
"""

_ENGLISH = """
a about above after again against all also am an and any are aren't as at be because been before being below
between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each
either else even ever every few for from further get gets got had hadn't has hasn't have haven't having he
he'd he'll he's her here here's hers herself him himself his how how's i i'd i'll i'm i've if in into is
isn't it it'll it's its itself just let's me more most mustn't my myself neither no nor not of off on once
only or other ought our ours ourselves out over own rt same shall shan't she she'd she'll she's should
shouldn't so some such than that that's the their theirs them themselves then there there's these they
they'd they'll they're they've this those though through to too under until up upon us very via was wasn't
we we'd we'll we're we've were weren't what what's when when's where where's whether which while who who's
whom whose why why's will with won't would wouldn't yet you you'd you'll you're you've your yours yourself
yourselves
"""

_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus
bei beim bin bis bist da damit dann das dass dein deine deinem deinen deiner dem den denn der deren des
dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer
eines er es etwas euch euer eure eurem euren eurer für gegen habe haben hat hatte hatten hier hin hinter ich
ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes jene jenem
jenen jener jenes jetzt kann kein keine keinem keinen keiner können könnte machen man manche mein meine
meinem meinen meiner mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne rt sehr sein seine
seinem seinen seiner selbst sich sie sind so solche soll sollte sondern sonst über um und uns unser unsere
unserem unseren unserer unter viel vom von vor während war waren warst was weg weil weiter welche welchem
welchen welcher welches wenn wer werde werden wie wieder will wir wird wirst wo wollen wollte würde würden
zu zum zur zwar zwischen
"""

_FRENCH = """
a à ai aie aient ait alors as au aucun aucune aujourd'hui aura auront aussi autre autres aux avaient avais
avait avant avec avez avons ayant c'est ce ceci cela celle celles celui ces cet cette ceux chaque chez comme
comment d'un d'une dans de depuis des deux dit donc dont du elle elles en encore entre es est et étaient
étais était étant été êtes être eu eux fait faut fut ici il ils j'ai je jusque l'on la là le les leur leurs
lors lui ma mais me même mêmes mes moi moins mon n'a n'est ne ni nos notre nous on ont ou où par parce pas
peu peut plus plusieurs pour pourquoi qu'elle qu'il qu'ils qu'on qu'un qu'une quand que quel quelle quelles
quels qui quoi rt s'est sa sans se sera seront ses si soi soit sommes son sont sous suis sur ta te tes toi
ton tous tout toute toutes très tu un une vers vos votre vous y
"""

_SPANISH = """
a al algo alguna algunas alguno algunos ante antes aquel aquella aquellas aquello aquellos aquí así aun aún
aunque bajo bien cada casi como cómo con contra cual cuál cuales cuando cuándo de del desde donde dónde dos
durante e el él ella ellas ello ellos en entonces entre era eran eras eres es esa esas ese eso esos esta
está estaba estaban estado están estar estas este esto estos estoy fue fueron ha había habían han has hasta
hay he hemos la las le les lo los más me mi mí mis mucho muchos muy nada ni no nos nosotras nosotros nuestra
nuestras nuestro nuestros o os otra otras otro otros para pero poco por porque pues que qué quien quién
quienes rt se sea sean según ser será serán si sí sido siempre sin sobre sois solo sólo somos son soy su sus
suya suyas suyo suyos también tampoco tan tanto te tenemos tener tengo ti tiene tienen toda todas todavía
todo todos tu tú tus un una unas uno unos usted ustedes vosotros vuestra vuestro y ya yo
"""

STOP_WORDS: dict[str, frozenset[str]] = {
    "english": frozenset(_ENGLISH.split()),
    "german": frozenset(_GERMAN.split()),
    "french": frozenset(_FRENCH.split()),
    "spanish": frozenset(_SPANISH.split()),
}
