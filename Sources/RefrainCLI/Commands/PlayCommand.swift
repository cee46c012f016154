// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import Refrain
  import RefrainPlayer

  struct PlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "play",
      abstract: "Play sound through the cache, and keep it.",
      discussion: """
        Bytes that are stored come from disk, the others from the origin, once; while it plays, \
        the whole resource is fetched. After each play a line tells the time to the first sound, \
        and how many bytes came from where. Only sound is played, also of a video.

        Without a sound device it plays on in real time, and says so. --audio-output writes what \
        would be heard to a WAV file instead, as fast as it can be decoded; further plays of one \
        command go to FILE-2.wav, FILE-3.wav and so on.

        With --json each line of standard output is an object whose 'event' is 'started', \
        'duration', 'position', 'silent', 'ended', 'failed' or, last, 'report'.

        Examples:
          refrain play https://example.org/song.flac
          refrain play --start 1:30 https://example.org/song.flac
          refrain play --audio-output heard.wav https://example.org/song.flac
          refrain play --sample
        """)

    @Argument(
      help: ArgumentHelp("The URLs to play, one after the other.", valueName: "url"),
      transform: URL.argument)
    var urls: [URL] = []

    @Flag(
      help: """
        Play a tune from an origin on this computer, cold and then warm. The cache is a temporary \
        one, unless --cache says.
        """)
    var sample = false

    @Option(
      help: ArgumentHelp("Write the sound to a WAV file instead.", valueName: "file.wav"),
      completion: .file(extensions: ["wav"]))
    var audioOutput: String?

    @Option(
      help: ArgumentHelp("Begin at a position: seconds, or 1:30.", valueName: "position"),
      transform: { text in try usage { try TimeText.parse(text) } })
    var start = Duration.zero

    @Option(
      help: ArgumentHelp("Jump to a position once sound has come.", valueName: "position"),
      transform: { text in try usage { try TimeText.parse(text) } })
    var seek: Duration?

    @OptionGroup
    var options: GlobalOptions

    func validate() throws {
      guard urls.isEmpty == sample else {
        throw ValidationError("Name the URLs to play, or say --sample.")
      }
    }

    func run() async throws {
      let options = options
      if options.logLevel < .debug { SoundLibraries.silence() }
      let plays = Plays(
        start: start, seek: seek, output: audioOutput.map { URL(filePath: $0) }, options: options)
      if sample { return try await SamplePlay(plays: plays, options: options).run() }
      let urls = urls
      try await withCache(options) { cache in
        try await each(of: urls) { url in
          let report = try await plays.play(options.resource(url), from: cache)
          if !options.json {
            try Console.shared.print("\(URLArgument.name(of: url)): \(report.text)")
          }
        }
      }
    }
  }
#endif
