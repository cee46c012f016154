// SPDX-License-Identifier: MIT
#if os(Linux)
  public import ArgumentParser
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
    var replayGain = ReplayGain.off

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

  extension ReplayGain: ExpressibleByArgument {}

  /// The value of `--rewind`.
  enum RewindArgument {
    private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600]

    /// What a second of sound with 128 kbit/s takes in libmpv's memory, in bytes.
    private static let bytesPerSecond = 40 << 10
    private static let least: Int64 = 1 << 20

    /// Reads a size, as `ByteSize.parse`, or a time: `2h`, `30m`, `90s`, and what `TimeText.parse`
    /// reads. `30m` is half an hour, and `30M` a size.
    ///
    /// - Returns: the bytes to keep.
    static func parse(_ text: String) throws -> Int64 {
      let bytes = try seconds(text).map { Int64($0) * Int64(bytesPerSecond) } ?? size(text)
      guard bytes >= least else { throw InvalidArgument("rewinding takes at least 30s or 1MiB") }
      return bytes
    }

    /// Returns nil if the text is no time.
    private static func seconds(_ text: String) -> Int? {
      guard let unit = text.last.flatMap({ units[$0] }) else {
        return (try? TimeText.parse(text)).map { Int($0 / .seconds(1)) }
      }
      let digits = text.dropLast()
      guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(digits),
        number < 1_000_000
      else { return nil }
      return unit * number
    }

    private static func size(_ text: String) throws -> Int64 {
      guard text.last?.isLowercase == false, let size = try? ByteSize.parse(text) else {
        throw InvalidArgument("write a size as in 64MiB, or a time as in 2h, 30m, 90s or 1:30:00")
      }
      return size
    }
  }
#endif
