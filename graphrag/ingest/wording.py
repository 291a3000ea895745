"""The wordings in which prose tells how services relate: patterns over sentences with signs in place of names.

Each quantifier is bounded and each pattern begins with something rare, as the text is a stranger's.
"""

from __future__ import annotations

import re

from graphrag.ingest.naming import Kind, signs

ANY = signs(*Kind)
SIGN = re.compile(ANY)
SERVICE = signs(Kind.SERVICE, Kind.WORD, Kind.EITHER, Kind.NEW, Kind.CODE, Kind.JOINED)
SURE = signs(Kind.SERVICE, Kind.EITHER, Kind.NEW)
TEAM = signs(Kind.TEAM, Kind.EITHER, Kind.NEW_TEAM)
OWNER = signs(Kind.TEAM, Kind.EITHER, Kind.NEW_TEAM, Kind.NEW, Kind.CODE, Kind.JOINED)
LINK = signs(Kind.LINK)
ADV = (
    r"(?:also|directly|heavily|only|currently|itself|mainly|mostly|primarily|therefore|strongly|still|both|always|now"
    r"|in turn|thus|typically|usually|generally|critically|synchronously|internally|then|indirectly|solely|largely"
    r"|further|additionally|in production|at runtime|jointly|collectively|fully)"
)
DET = r"(?:(?:the|our|its|a|an|both|own) ){0,2}"
NOUN = r"(?: (?:micro)?services?| APIs?| databases?| clusters?| backends?| instances?)?"
AFTER = rf"{LINK}?(?: ?\([^()]{{0,80}}\))?"
ITEM = re.compile(rf" ?(?:on |upon |both )?(?:(?:the|our|its|both|own) ){{0,2}}(?P<name>{SERVICE}){NOUN}{AFTER}")
TEAMS = re.compile(rf" ?{DET}(?P<name>{OWNER}){AFTER}")
ARTICLE = re.compile(r"\b(?:the|our|its|own)\b")
SEPARATOR = re.compile(
    r" ?(?:,? (?:and|&|plus|as well as|along with|together with)(?: also| then| another(?: one)?)?(?: (?:on|upon"
    r"|to|from|by|with)"
    r")?(?= )|,| ?/ ?(?=\S))"
)
PURPOSE = re.compile(
    rf",? (?:for|to|as|in order to|when|where|which|because)\b[^{ANY[1:-1]};:.?!()]{{1,80}}?(?=,? and |, )"
)
ASIDE = re.compile(
    r", (?:which|that|owned|run|maintained|operated)\b[^.;:]{1,90}?, (?:and|as well as) (?:on|upon|to|from) "
)
FOLLOWS = re.compile(
    r"['\u2019\")\]*]{0,3} ?(?:$|[.,;:!)|\u2013—-]|(?:for|to|in|at|on|as|and|but|via|over"
    r"|through|which|that|where|who|whose"
    r"|with"
    r"|from|by|because|since|so|while|whereas|every|during|behind|under|both|each|also|directly|only|too|about"
    r"|whether|mainly|primarily|mostly|heavily|internally|today|now|there)\b)"
)
CONDITION = re.compile(
    r"[ ,]{0,2}(?:if|unless|until|once|when|whenever|any ?more|any longer|in theory|instead|rather|or|in the past"
    r"|back then)\b"
)
VETO = re.compile(
    r"\b(?:if|whether|unless|until|suppos\w+|assum\w+|imagine|before|in case|would|could|might|may|should|used to"
    r"|previously|formerly|historically|originally|no longer|neither|nor|hardly|instead of|rather than|for example"
    r"|e\.g|for instance|perhaps|maybe|plans?|planned|propos\w+|will|once|past|ago|why|how|who|does|do|did"
    r"|let['\u2019]s|myth|think|believe|doubt"
    r"|wrong|false|untrue|example|hypothetical\w*|imagin\w+|old days|in 20\d\d|back then|untrue|like)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
LEADING = re.compile(
    rf"^ ?(?:(?:when|whenever|while|as|after)\b[^,;]{{1,120}}, |(?:in order )?to [a-z]+(?: (?!(?:that|it|this)\b)"
    rf"[a-z]+){{0,5}},? (?={SERVICE}|it\b|this\b|the\b))",
    re.IGNORECASE,
)
CLAUSE = re.compile(r"[;?!]|: (?![^()]{0,80}\))|\bbut\b|\bwhereas\b|\balthough\b|\bthough\b")
PRONOUN = (
    r"(?:it|this (?:micro)?service|the (?:micro)?service|this app(?:lication)?|this component|this system|this one)"
)
MAY_LEAD = re.compile(
    r"(?:^|[,;:(\u2013—>*|-]|\b(?:and|but|because|since|so|as|both|while|whereas|therefore|thus|hence|then|however"
    r"|moreover"
    r"|today|currently|internally|services?|note that|remember that|mind that|aware that|yes|in turn|production|that"
    r" is why))\W{0,3}(?:the |our )?$",
    re.IGNORECASE,
)
PREPOSITION = re.compile(
    rf"^ ?(?:for|on|in|at|during|after|with) [^{ANY[1:-1]},;:]{{1,60}} $|(?:,|\band) (?:in order )?to (?:[a-z]+"
    rf" ){{1,6}}$",
    re.IGNORECASE,
)
"""What may stand before "it" without a comma: "for every order it calls"."""
SUBJECTS = re.compile(
    rf"(?P<list>(?:{DET}{SERVICE}{NOUN}{AFTER}, ){{0,5}}(?:{DET}{SERVICE}{NOUN}{AFTER},? and"
    rf" )?{DET}{SERVICE}{NOUN}{AFTER})(?:,? {ADV}){{0,3}} ?$",
    re.IGNORECASE,
)
BY_PRONOUN = re.compile(rf"(?:^|(?<=[\s,;:(\u2013—-])){PRONOUN}(?: itself)?(?:,? {ADV}){{0,3}} ?$", re.IGNORECASE)
RELATIVE = re.compile(rf"(?P<name>{SERVICE}){NOUN}{AFTER}(?P<comma>,)? (?:which|that)(?: {ADV})? ?$")
BEGINS = re.compile(
    rf"^{DET}(?:(?P<name>{SERVICE}){NOUN}{AFTER}|(?P<pronoun>{PRONOUN}))(?: {ADV})?(?P<rest>,? .{{0,400}})$",
    re.IGNORECASE,
)
OWNER_FIRST = re.compile(
    rf"{DET}{TEAM} [a-z ]{{2,40}} {DET}(?P<name>{SERVICE}){NOUN}{AFTER},? which(?: {ADV})? ?$", re.IGNORECASE
)
SHORTENED = re.compile(r"\b([Ii])t['\u2019]s\b")
OWNED_FIRST = re.compile(rf"[^,;]{{0,60}}, {DET}(?P<name>{SERVICE}){NOUN}{AFTER} [a-z]")
A_PRONOUN = re.compile(PRONOUN, re.IGNORECASE)
FINITE = re.compile(r"^ (?:is|are|has|have|was|runs?|[a-z]{2,14}s|does not|cannot|can)\b")
IS_ONE_THAT = re.compile(rf"^ (?:is|are) (?:a|an|the|our)\b[^{ANY[1:-1]},;]{{1,100}} (?:that|which) ?$")
APPOSITION = re.compile(rf"^, [^{SERVICE[1:-1]};]{{1,100}}, ?$")
ELLIPSIS = re.compile(rf"(?:,|,? and|,? and it|,? plus|,? or)(?: {ADV}){{0,2}} ?$")

NEEDS = re.compile(
    r"(?<![\w-])(?:(?P<strong>(?:has|have) (?:an? |)(?:[a-z]{2,12} ){0,2}dependenc(?:y|ies) (?:on|upon)|(?:is|are)"
    r" (?:[a-z]{2,12} )?dependent (?:on|upon)"
    r"|depends?(?: [a-z]{2,12}ly)?(?: for [a-z ]{2,30})? (?:on|upon)|rel(?:y|ies)(?: [a-z]{2,12}ly)? (?:on|upon)"
    r"|counts? on|leans? on|draws? on"
    r"|(?:is|are) (?:an? )?(?:client|consumer)s? of|(?:is|are) (?:backed|powered) by|sits? on top of|(?:is|are)"
    r" built on(?: top of)?)"
    r"|(?P<call>calls?(?: out to| into| on)?|talks? (?:to|with)|speaks? (?:to|with)|connects? to|quer(?:y|ies)"
    r"|(?:reads?|fetch(?:es)?|gets?|pulls?|loads?)(?: [a-z]{2,14}){0,3} from|(?:writes?|persists?|saves?)(?:"
    r" [a-z]{2,14}){0,3} to"
    r"|stores?(?: [a-z]{2,14}){0,3} in|sends?(?: [a-z]{2,14}){0,2} (?:requests|queries|calls) to|makes?(?:"
    r" [a-z]{2,14}){0,2} (?:requests|queries|calls) to"
    r"|(?:must|has to|have to|needs to)(?: be able to)? (?:reach|call|talk to|contact|connect to|query|read from)"
    r"|consumes?(?: from)?|invokes?|delegates?(?: [a-z]{2,14}){0,2} to|asks)"
    r"|(?P<loose>uses|use|needs?|requires?|makes use of|utili[sz]es?|leverages?))(?=[ :,])",
    re.IGNORECASE,
)
WITHOUT = re.compile(
    r"(?:cannot|can not|can['\u2019]t|will not|won['\u2019]t|does not|doesn['\u2019]t"
    r"|is unable to)(?: [a-z]{2,14}){1,4} without"
    r" (?=\S)",
    re.IGNORECASE,
)
WITHOUT_FIRST = re.compile(r"^without ", re.IGNORECASE)
HELPLESS = re.compile(
    rf",? (?:{DET}(?P<name>{SERVICE})|(?P<pronoun>{PRONOUN})){AFTER} (?:cannot|can not"
    rf"|can['\u2019]t|will not|won['\u2019]t"
    rf"|does not|doesn['\u2019]t|fails|stops|is down)\b",
    re.IGNORECASE,
)
BASE_FORM = re.compile(
    r"^(?:depend|rely|count|lean|draw|call|talk|speak|connect|query|read|fetch|get|pull|load|write|persist|save"
    r"|store|send|make|consume|invoke|delegate|use|need|require|utili[sz]e|leverage|have|are|sit)\b",
    re.IGNORECASE,
)
QUANTITY = re.compile(
    r",? ?(?:on )?(?:(?:exactly|only|just|the|these|at least|its|a|couple of|few|following) ){0,3}(?:two|three"
    r"|four|five|six|several|some|other|following|\d)(?: [a-z-]{2,14}){0,3} ?"
    r"(?P<noun>services|microservices|systems|components|things|others|dependencies|backends|APIs"
    r"|applications)?(?: [a-z]{2,14}){0,4}(?:[:,]| [\u2013—-])(?: namely| namely:)? ",
    re.IGNORECASE,
)
PASSIVE = re.compile(
    r" (?:is|are) (?:also |only |mainly |directly |heavily |both |all ){0,2}(?P<verb>used|needed|required|called"
    r"|queried|consumed|invoked|relied (?:on|upon)|depended (?:on|upon))(?: directly)? by (?=\S)",
    re.IGNORECASE,
)
ARE_DEPENDENCIES = re.compile(
    r" (?:is|are) (?:both |also )?(?:an? |the |its |)(?:[a-z]{2,12} ){0,2}dependenc(?:y|ies)(?: of|(?= ?[.,;]|$)) ?",
    re.IGNORECASE,
)
DEPENDENCIES = re.compile(
    rf"(?:^|(?<=[\s,;:(]))(?:(?P<its>its|the service['\u2019]s|this service['\u2019]s|the)"
    rf"|{DET}(?P<whose>{SERVICE}){NOUN}(?:['\u2019]s?)?)? ?(?:(?:two|three|four|only|direct|hard|runtime|upstream"
    rf"|main"
    rf"|service|own|critical|key|external|internal) ){{0,3}}"
    rf"(?:dependencies|upstreams|upstream services)(?: (?:of|for) {DET}(?:(?P<of>{SERVICE}){NOUN}"
    rf"|(?P<ofit>{PRONOUN})))? ?(?:are|include|:|=|\u2013|—)",
    re.IGNORECASE,
)
THINGS = re.compile(
    rf"\b(?:services|systems|components|things|microservices|backends|dependencies|applications) (?:that |which"
    rf" )?(?:{DET}(?P<name>{SERVICE})|(?P<pronoun>{PRONOUN})) (?:directly |also )?(?:depends on|relies on|needs"
    rf"|uses|calls|requires|talks to|cannot (?:run|work|live|start) without)(?: [a-z]{{2,14}}){{0,4}} ?(?:are|:"
    rf"|\u2013"
    rf"|—)",
    re.IGNORECASE,
)
HAS = re.compile(
    r"\b(?:has|there are)(?: [a-z-]{2,14}){0,3} (?:dependencies|upstreams)(?: [a-z]{2,14}){0,2}(?:[:,]| [\u2013—-])"
    r"(?:"
    r" namely)? ",
    re.IGNORECASE,
)

OWNED = re.compile(
    r"(?<![\w-])(?:is |are |['\u2019]s )?(?:(?:currently|jointly|fully|now|also|primarily|developed|built|written"
    r"|designed|designed|operated|run|owned|maintained|supported|and|,) ){0,4}"
    r"(?P<verb>owned|maintained|run|operated|managed|supported|looked after|taken care of|developed|staffed|kept"
    r" running|kept alive|cared for|tended|stewarded) by (?=\S)",
    re.IGNORECASE,
)
BELONGS = re.compile(
    r"(?<![\w-])(?:belongs? to|(?:is|are) the (?:sole )?responsibility of|(?:is|are) under the (?:care|ownership"
    r"|responsibility) of|(?:is|are) in the (?:care|hands) of|(?:has|have) as (?:its |their )?owners?|lives with"
    r"|sits with|rests with|falls (?:under|to)) (?=\S)",
    re.IGNORECASE,
)
OWNS = re.compile(
    rf"(?P<team>{TEAM})(?: ?\([^()]{{0,80}}\))?(?P<who>,? (?:who|which|that))? (?:(?:currently|also|now|jointly)"
    rf" ){{0,2}}(?:(?:owns?|maintains?|runs?|operates?|manages?|looks? after|takes? care of|supports?|stewards?)"
    rf"(?: and (?:owns?|maintains?|runs?|operates?|manages?|looks? after|supports?))?|(?:is|are) (?:responsible"
    rf"|accountable|on[- ]call) for|(?:is|are) (?:the )?owners? of|carr(?:y|ies) the pager for|(?:has|have|holds?)"
    rf" (?:the )?(?:ownership|pager) (?:of|for))(?P<end> )",
    re.IGNORECASE,
)
OWNER_OF = re.compile(
    rf"(?:^|(?<=[\s,;:(]))(?:(?P<its>its|the service['\u2019]s|this service['\u2019]s)"
    rf"|{DET}(?P<whose>{SERVICE}){NOUN}['\u2019]s?)? ?(?:the )?(?:(?:service|current|sole|primary|responsible|code"
    rf"|owning) ){{0,2}}(?:owners?|owning team|team|ownership|maintainers?|responsibility)(?: (?:of|for)"
    rf" (?:{DET}(?P<of>{SERVICE}){NOUN}|(?P<ofit>{PRONOUN})))? (?:is|are|lies with|sits with|rests with|is with"
    rf"|belongs to|falls to)(?: with)? (?=\S)",
    re.IGNORECASE,
)
TURNED = (
    re.compile(rf"(?P<name>{SERVICE}){NOUN} \((?:the )?(?P<team>{TEAM})\)"),
    re.compile(
        rf"(?:(?P<name>{SERVICE}){NOUN}|(?:^|(?<=, )|(?<=and ))(?P<pronoun>{PRONOUN})) (?:is|are) (?:an? |one of"
        rf" the )"
        rf"(?:[a-z]{{2,12}} )?(?:services?|apps?) (?:of|by|from) (?:the )?(?P<team>{TEAM})",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<name>{SERVICE}){NOUN} is (?:an?|the|our) [^{ANY[1:-1]},;]{{1,60}} (?:owned|maintained|run|operated)"
        rf" by (?:the )?(?P<team>{TEAM})"
    ),
    re.compile(
        rf"(?P<name>{SERVICE}){NOUN} (?:is|are) (?:an? |one of )?(?:the |our )?(?P<team>{TEAM})(?:['\u2019]s?)?"
        rf" (?:micro)?(?:services?|responsibility|job|property)\b"
    ),
    re.compile(
        rf"(?:^|(?<=, )|(?<=and ))(?P<pronoun>{PRONOUN}) (?:is|are) (?:an? |one of )?(?:the |our )?(?P<team>{TEAM})"
        rf"(?:['\u2019]s?)? (?:micro)?(?:services?|responsibility|job|property)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:team|people|squad|group) (?:that|which|who) (?:currently )?(?:owns?|runs?|maintains?|operates?"
        rf"|looks? after) {DET}(?:(?P<name>{SERVICE}){NOUN}|(?P<pronoun>{PRONOUN})) (?:is|are) (?:the"
        rf" )?(?P<team>{TEAM})",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<name>{SERVICE}){NOUN}(?:, an? [a-z ]{{1,40}})?,? (?:which|that) (?:the )?(?P<team>{TEAM})"
        rf" (?:currently )?(?:owns?|runs?"
        rf"|maintains?|operates?|looks? after)\b"
    ),
    re.compile(
        rf"^(?:(?:the )?(?:team|people) )?(?:responsible|accountable|on call)"
        rf" for {DET}(?:(?P<name>{SERVICE}){NOUN}|(?P<pronoun>{PRONOUN})) (?:is|are) (?:the )?(?P<team>{TEAM})",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<name>{SERVICE}){NOUN} \((?:owner|team|owning team)s?:? (?:the )?(?P<team>{TEAM})\)", re.IGNORECASE
    ),
)
"""The same said the other way round: "X is a T team service", "the team that owns X is T"."""
RUNBOOK_WORD = r"(?:run-?books?|run books?|playbooks?)"
RUNBOOK = re.compile(
    rf"(?:(?P<whose>{SERVICE}){NOUN}(?:['\u2019]s?)? "
    rf"|(?P<its>\b(?:its|the service['\u2019]s|this service['\u2019]s) ))?(?:(?:own"
    rf"|on-call|main|full|operational|service|current|team['\u2019]s) ){{0,2}}\b(?P<word>{RUNBOOK_WORD})\b(?: (?:page"
    rf"|document|file|doc))?(?P<direct>{LINK})?(?: (?:for|of|to) (?:{DET}(?P<of>{SERVICE})(?:{NOUN})"
    rf"|(?P<ofit>{PRONOUN})))?",
    re.IGNORECASE,
)
TO_LINK = re.compile(rf"(?P<between>[^{ANY[1:-1]};?!]{{0,90}}?)(?P<link>{LINK})")
IS_AT = re.compile(
    r"(?:['\u2019]s)? ?(?:$|[:,(\[\u2013—-]|(?:is|are|lives?|can|at|in|on|under|here|found|kept|located|sits?"
    r"|stays|resides|available"
    r"|published|stored"
    r"|page|document|location|url|link|address|behind|which|may|will|you|we|see)\b)(?![^.!?]*[.!?] )",
    re.IGNORECASE,
)
"""What can stand between the word "runbook" and the link to it."""
BEFORE_NAMED = re.compile(
    r"(?:^|[\[(:;>*|“\"]|\b(?:the|our|see|read|follow|check|use|using|via|at|in|to|consult|find|this|full|is|are"
    r"|with|and its|has|have|keeps|you|on-call|when [^,]{1,60},|(?<![\ue000-\uf8ff] )and|open)) ?\W?$",
    re.IGNORECASE,
)
BEFORE_ANY = re.compile(
    r"^(?:[A-Za-z][\w-]{0,20} ){0,4}(?:follow|see|read|use|consult|open|refer to) (?:the|our|this)$|^(?:(?:see"
    r"|read|follow"
    r"|use|open|consult|check|find|here is|here['\u2019]s|here|please|also|start with|go to|and|the|its|our|this|full"
    r"|complete|service|on-call"
    r"|you (?:will |can )?find|refer to|there is an?|(?:when|for|in) [^,;]{1,60},|if [^,;]{1,60},)[ :]*){0,6}$",
    re.IGNORECASE,
)
NO_RUNBOOK = re.compile(
    r"\b(?:no|not|never|old|older|outdated|deprecated|template|example|former|another|different|other|instead"
    r"|similar|general|generic|create|write|add|new|tool|repository|repo|edit|update|video|simulation)\b",
    re.IGNORECASE,
)
WISHED = re.compile(r"\b(?:would|could|might|may|previously|formerly|used to|was|were|whether|why)\b", re.IGNORECASE)
IS_RUNBOOK = re.compile(
    rf"(?:^|[,;] )(?:see|read|open|use|consult|go to|look at) (?P<link3>{LINK}) for (?P<its3>the|its|our)(?: full|"
    rf" on-call)? {RUNBOOK_WORD}(?: (?:for|of) {DET}(?P<name>{SERVICE}))?|(?P<link>{LINK}) (?:is|holds|contains"
    rf"|has|keeps|carries) (?:(?P<its>its|the|our) ){RUNBOOK_WORD}(?: (?:for|of) {DET}(?:(?P<of>{SERVICE})"
    rf"|{PRONOUN}))?|(?P<link2>{LINK}) (?:is|holds|contains|has) (?P<whose>{SERVICE})['\u2019]s? {RUNBOOK_WORD}",
    re.IGNORECASE,
)
TELLING = frozenset(
    """accountable ask asks backed belong belongs built call calls called care client clients connect connects consume
    consumed consumer consumers consumes count counts crew delegate delegates depend depended dependencies dependency
    dependent depends developed draw draws falls fetch fetches get gets guild hands invoke invoked invokes
    kept lean leans
    leverage leverages lies lives load loads look looked looks maintain maintained maintainer maintainers maintains make
    makes manage managed manages microservice microservices need needed needs operate operated operates own owned owner
    owners ownership owning owns pager persist persists playbook playbooks powered pull pulls queried queries query read
    reads relied relies rely require required requires responsibility responsible rests run runbook runbooks runs save
    saves send sends services service sits speak speaks squad staffed stewarded stewards store stores support supported
    supports takes taken talk talks team tended tribe upstream upstreams use used uses utilises utilizes without write
    writes chapter reach things systems components""".split()
)
WORDS = re.compile(r"[a-z]+")


def may_tell(sentence: str) -> bool:
    """Whether a sentence has a word that a relation is told with. Most have none, and are not looked at closely."""
    return not TELLING.isdisjoint(WORDS.findall(sentence.lower()))
