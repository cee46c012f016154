// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import RefrainPlayer

  /// The options of `play` for how one listens, and where one goes on.
  struct ListeningOptions: ParsableArguments {
    @Flag(
      help: """
        Go on with the last queue, where it was left: its items and their order, shuffle and \
        repeat, the current item and the position. A queue that was played to its end begins again.
        """)
    var resume = false

    @Flag(
      help: """
        Begin every item at its start. Otherwise, what lasts longer than ten minutes goes on where \
        it was left, unless it was played to its end. Either way, it plays with the tracks and the \
        volume chosen for it.
        """)
    var fromStart = false

    @Option(
      help: ArgumentHelp(
        "The speed, from 0.25 to 4; 1 is normal. The pitch stays.", valueName: "factor"))
    var rate: Double?

    @Option(
      help: ArgumentHelp(
        """
        The sound device: its name, or a part of its description. 'list' shows all, and plays \
        nothing.
        """, valueName: "name|list"))
    var device: String?

    @Option(
      name: .customLong("replaygain"),
      help: ArgumentHelp(
        "Play equally loud, by the gains that media state in their tags.",
        valueName: "off|track|album"))
    var replayGain = ReplayGainArgument.off

    @Option(
      help: ArgumentHelp(
        """
        How much of a station or live stream to keep in memory, for pausing and going back in it: \
        a size, as in 64MiB, or the time of 128 kbit/s sound, as in 30m or 1:30:00. Default: \
        nothing.
        """, valueName: "size|time"),
      transform: { text in try usage { try RewindArgument.parse(text) } })
    var rewind: Int64?

    /// Whether the sound devices are to be shown.
    var listsDevices: Bool { device == "list" }

    func validate() throws {
      if let rate, !Player.rates.contains(rate) {
        throw ValidationError("The rate must be from 0.25 to 4.")
      }
      guard !resume || !fromStart else {
        throw ValidationError("--resume and --from-start exclude each other.")
      }
    }
  }

  enum ReplayGainArgument: String, CaseIterable, ExpressibleByArgument {
    case off, track, album

    var mode: ReplayGain {
      switch self {
      case .off: .off
      case .track: .track
      case .album: .album
      }
    }
  }
#endif
