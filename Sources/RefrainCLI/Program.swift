// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

@main
enum Program {
  static func main() async {
    // Writing to a pipe without a reader is an error like any other.
    signal(SIGPIPE, SIG_IGN)
    // So is a file that may not grow further (setrlimit(2)): playing continues without storing.
    signal(SIGXFSZ, SIG_IGN)
    // Swift's runtime may print a backtrace on Ctrl-\, which is a request to end and not a crash.
    var quit = sigaction()
    if sigaction(SIGQUIT, nil, &quit) == 0, !quit.isIgnored { signal(SIGQUIT, SIG_DFL) }
    exit(await run(Array(CommandLine.arguments.dropFirst())))
  }

  /// Returns the exit code: 0 done, 1 failed, 64 wrong usage, 128 plus its number after a signal.
  static func run(_ arguments: [String]) async -> CInt {
    do {
      var command = try await RefrainCommand.asyncParseAsRoot(arguments)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      return 0
    } catch let interrupted as Interrupted {
      return 128 + interrupted.signal
    } catch let code as ExitCode {
      return code.rawValue
    } catch let error as MediaCacheError {
      return await fail("\(error)")
    } catch is CancellationError {
      return await fail("The command was cancelled.")
    } catch {
      // Help and the like are not failures; the parser reports wrong usage.
      let code = RefrainCommand.exitCode(for: error)
      if code == .failure { return await fail("\(error)") }
      RefrainCommand.exit(withError: error)
    }
  }

  /// Reports a failure in exactly one line, whatever characters its text contains.
  private static func fail(_ text: String) async -> CInt {
    await Console.shared.endNotes(givesUp: true)
    // The line waits for its reader. Nothing else is left to do: a signal ends the program.
    for number in [SIGINT, SIGTERM, SIGQUIT] { signal(number, SIG_DFL) }
    Console.shared.clear()
    Console.shared.note("refrain: \(printable(text))")
    return 1
  }
}

struct RefrainCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "refrain",
    abstract: "Play remote media and store it: no byte is downloaded twice.",
    discussion: """
      Bytes that were played or fetched once come from disk from then on. This includes parts of \
      a resource: only missing bytes are requested from the origin.

      Examples:
        \(examples.joined(separator: "\n  "))

      Exit codes: 0 done, 1 failed (one line on standard error gives the error and the \
      remedy), 64 wrong usage, 130, 131 and 143 ended by a signal. 'refrain run' returns those of \
      its program.

      Completions: 'refrain --generate-completion-script bash' (or zsh, fish) prints them.
      """,
    version: "0.1.0",
    subcommands: playing + [
      GetCommand.self, RunCommand.self, ServeCommand.self, URLCommand.self, ListCommand.self,
      InfoCommand.self, PathCommand.self, RemoveCommand.self, VerifyCommand.self,
    ])

  /// The `play` command, on Linux only.
  private static var playing: [any ParsableCommand.Type] {
    #if os(Linux)
      [PlayCommand.self]
    #else
      []
    #endif
  }

  private static var examples: [String] {
    #if os(Linux)
      [
        "refrain run -- mpv https://example.org/film.mkv   in any player",
        "refrain play https://example.org/song.flac        here",
        "refrain get https://example.org/song.flac         fetch all of it",
        "refrain ls                                        list what is stored",
        "refrain serve                                     a proxy for players",
        "refrain play --sample                             without a network",
      ]
    #else
      [
        "refrain run -- mpv https://example.org/film.mkv   in any player",
        "refrain get https://example.org/song.flac         fetch all of it",
        "refrain ls                                        list what is stored",
        "refrain serve                                     a proxy for players",
      ]
    #endif
  }

  @OptionGroup
  var options: GlobalOptions
}
