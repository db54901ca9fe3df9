"""The original ALFWorld, as the bridge serves it.

reset takes {"game": TEXT}, the text of a game.tw-pddl file. The environment is the bare text engine
with ALFWorld's names for things, without a step limit: after a win, steps go on.
"""

import hashlib
import os
import tempfile

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler

NAME = "alfworld"
PACKAGES = ["alfworld", "textworld", "tatsu", "fast-downward-textworld"]
ISOLATED = True  # the planner's library keeps its state in global variables, and resets leak memory


def configure():
    pass


class Session:
    def __init__(self):
        self.env, self.game, self.folder = None, None, None

    def reset(self, request):
        text = request["game"]
        game = hashlib.sha256(text.encode()).digest()
        if game != self.game:
            self.close()
            self.folder = tempfile.TemporaryDirectory()
            path = os.path.join(self.folder.name, "game.tw-pddl")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            infos = textworld.EnvInfos(won=True, admissible_commands=True)
            self.env = textworld.start(path, infos, wrappers=[AlfredDemangler(shuffle=False)])
            self.game = game
        return self.show(self.env.reset(), 0, False)

    def step(self, action):
        if self.env is None:
            raise RuntimeError("step before reset")
        return self.show(*self.env.step(action))

    def show(self, state, score, done):
        return {
            "observation": state.feedback, "admissible": state.admissible_commands,
            "won": bool(state.won), "score": score, "done": bool(done),
        }

    def close(self):
        if self.env is not None:
            self.env.close()
            self.folder.cleanup()
        self.env, self.game = None, None
