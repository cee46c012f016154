// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run a player through the cache, which stores the media that it plays.",
    usage: "refrain run [<options>] -- <program> [<argument> ...]",
    discussion: """
      Each argument of the program that is an http or https URL, also as in --file=https://…, is \
      replaced by a URL of a proxy that runs as long as the program. Options that name another \
      page or a proxy (--referrer, --http-proxy) do not change.

      The program has the terminal, and standard input, output and error, to itself. Signals sent \
      to 'refrain run' are forwarded to it. --log-level info reports each request on standard \
      error.

      The exit code is the program's; 128 plus the signal's number if a signal ended it; 127 if \
      it was not found, 126 if it cannot be run; 1 if the cache or the proxy failed before it \
      started.

      Examples:
        refrain run -- mpv https://example.org/film.mkv
        refrain run -- cvlc --play-and-exit https://example.org/song.flac
        refrain run -- ffplay -autoexit https://example.org/song.flac
        refrain run -- ffmpeg -i https://example.org/film.mkv -vn song.ogg
        refrain run --header 'Cookie: id=…' -- mpv https://example.org/film.mkv
      """)

  @Argument(
    parsing: .postTerminator,
    help: ArgumentHelp("The program to run and its arguments, after '--'.", valueName: "program"))
  var command: [String] = []

  @Flag(help: "While the program runs, fetch what it opened to the end.")
  var whole = false

  @OptionGroup(title: "Network options")
  var network: NetworkOptions

  @OptionGroup
  var options: GlobalOptions

  func validate() throws {
    guard command.first?.isEmpty == false else {
      throw ValidationError(
        "Name the program after '--', as in 'refrain run -- mpv https://example.org/song.flac'.")
    }
  }

  func run() async throws {
    let (command, options) = (command, options)
    let inherited = InheritedFiles()
    let log = RequestLog { requests, leftOut in
      if leftOut > 0 { Console.shared.note("refrain: \(RequestLogLine.leftOut(leftOut))") }
      for request in requests {
        Console.shared.note("refrain: \(RequestLogLine(request: request).text())")
      }
    }
    var configuration = CacheProxy.Configuration()
    configuration.headers = options.fields
    configuration.fetchesWhole = whole
    // The program may use any method; no other program knows the token.
    configuration.relayedMethods = .all
    configuration.redirectsPages = true
    if options.logLevel >= .info { configuration.log = log.note }
    let cacheConfiguration = network.configuration(options)
    let status = try await withOpenCache(
      options, configuration: cacheConfiguration, givesUpStalledLog: true
    ) { [configuration] cache in
      let proxy = try asUsage { try CacheProxy(cache: cache, configuration: configuration) }
      let serving = try await RunningProxy.start(proxy)
      let result: Result<CInt, any Error>
      do {
        result = .success(try await Self.run(command, through: serving, inherited))
      } catch {
        result = .failure(error)
      }
      await serving.stop()
      await log.end()
      return try result.get()
    }
    if status != 0 { throw ExitCode(status) }
  }

  /// Runs the program. Returns its exit code.
  private static func run(
    _ command: [String], through serving: RunningProxy, _ inherited: InheritedFiles
  ) async throws -> CInt {
    let arguments = ProxiedArguments(port: serving.proxy.listeningAddress?.port) { url in
      try serving.proxy.urlForPlayer(url).absoluteString
    } reportLeft: { text, error in
      Console.shared.note(
        printable("refrain: \(text) is passed to \(command[0]) as is, without the cache: \(error)"))
    }
    inherited.closeOthersOnExec()
    let child = try ChildProgram.start(
      command[0], arguments.replacing(Array(command.dropFirst())),
      environment: ChildEnvironment.reaching(ProcessInfo.processInfo.environment))
    serving.onFailure { error in
      Console.shared.noteLater(
        printable("refrain: The proxy ended; \(command[0]) receives nothing more: \(error)"))
    }
    return await child.end()
  }
}
