"""`completion`: prints the completion script of a shell."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation

# The scripts call the hidden command `__complete`.
# readline splits words at = and : by default. The part before them is already on the command line,
# so it is cut from the candidates.
_BASH = r"""
_fairlead() {
    local line=${COMP_LINE:0:COMP_POINT} words current typed
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[${#words[@]} - 1]}
    mapfile -t COMPREPLY < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
    COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
    typed=${current%"${current##*[=:]}"}
    [[ -n $typed ]] && COMPREPLY=("${COMPREPLY[@]#"$typed"}")
    return 0
}
complete -o default -F _fairlead fairlead
"""
_ZSH = r"""
#compdef fairlead
_fairlead() {
    local -a found
    local line word
    for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        word=${line%%$'\t'*}
        word=${word//:/\\:}
        [[ $line == *$'\t'* ]] && word+=":${line#*$'\t'}"
        found+=("$word")
    done
    if (( ${#found} )); then
        _describe fairlead found
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _fairlead ]]; then
    _fairlead "$@"
else
    compdef _fairlead fairlead
fi
"""
_FISH = r"""
function __fairlead_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c fairlead -f -a '(__fairlead_complete)'
complete -c fairlead -s f -l filename -r -F
complete -c fairlead -l kubeconfig -r -F
"""
SCRIPTS = {"bash": _BASH.lstrip(), "zsh": _ZSH.lstrip(), "fish": _FISH.lstrip()}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", nargs="*", metavar="bash | zsh | fish")


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    if not words:
        raise UsageError("name the shell: bash, zsh or fish")
    if len(words) > 1:
        raise UsageError("name one shell and nothing else")
    script = SCRIPTS.get(words[0])
    if script is None:
        raise UsageError(f"there is nothing for {words[0]}: name bash, zsh or fish")
    invocation.screen.out.write(script)
    return 0
