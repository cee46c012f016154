// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Foundation

  public struct AVAudioTimePitchAlgorithm: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let timeDomain = AVAudioTimePitchAlgorithm(rawValue: "TimeDomain")
  }

  public let AVFoundationErrorDomain = "AVFoundationErrorDomain"

  /// The AVError codes that a player distinguishes.
  public enum AVError {
    public enum Code: Int, Sendable {
      case unknown = -11800
      @available(macOS, unavailable)
      case mediaServicesWereReset = -11819
      case decodeFailed = -11821
      case fileFormatNotRecognized = -11828
      case fileFailedToParse = -11829
      case decoderNotFound = -11833
      case contentIsProtected = -11831
    }
  }

  public let AVPlayerItemFailedToPlayToEndTimeErrorKey = "AVPlayerItemFailedToPlayToEndTimeErrorKey"

  /// AVPlayerItem as documented by Apple, for WAV files, in time that a test advances (see
  /// `AVPlayer.standInAdvance(_:)`). Its bytes come from its asset's delegate.
  @MainActor open class AVPlayerItem: ObservedObject, KeyValueObserved {
    public enum Status: Int, Sendable {
      case unknown, readyToPlay, failed
    }

    public static let didPlayToEndTimeNotification = Notification.Name("DidPlayToEndTime")
    public static let failedToPlayToEndTimeNotification = Notification.Name("FailedToPlayToEndTime")
    public nonisolated static let playbackStalledNotification = Notification.Name("PlaybackStalled")

    public let asset: AVAsset
    public internal(set) var status = Status.unknown
    public internal(set) var error: (any Error)?
    public internal(set) var duration = CMTime.indefinite
    @available(iOS 7, macOS 10.9, tvOS 9, visionOS 1, *)
    open var audioTimePitchAlgorithm = AVAudioTimePitchAlgorithm.timeDomain
    /// Zero for sound alone.
    public internal(set) var presentationSize = CGSize.zero
    public private(set) var outputs: [AVPlayerItemOutput] = []

    /// The position in seconds.
    var position = 0.0
    let bytes: MediaBytes
    /// The player in which it is enqueued.
    weak var player: AVPlayer?
    private var seek: (target: Double, completion: (@Sendable (Bool) -> Void)?)?

    public init(asset: AVAsset) {
      self.asset = asset
      weak var item: AVPlayerItem?
      let url = asset as? AVURLAsset ?? AVURLAsset(url: URL(filePath: "/nothing"))
      bytes = MediaBytes(url) { item?.bytesChanged() }
      super.init()
      item = self
    }

    public convenience init(url: URL) { self.init(asset: AVURLAsset(url: url)) }

    /// Gives the item pictures of that size.
    package func standInShow(_ size: CGSize) {
      presentationSize = size
      tellObservers()
    }

    // MARK: Outputs

    open func add(_ output: AVPlayerItemOutput) { outputs.append(output) }

    // MARK: What has come

    /// The end of the part that is playable without further bytes.
    private var playableEnd: Double {
      guard case .file(let format) = bytes.kind else {
        if case .stream = bytes.kind { return .infinity }
        return position
      }
      let offset = format.offset(of: position)
      guard offset < format.body.upperBound else { return format.seconds }
      guard let span = bytes.spans.ranges.first(where: { $0.contains(offset) }) else {
        return position
      }
      return format.seconds(at: span.upperBound)
    }

    /// The position up to which it plays, in seconds.
    var bound: Double { max(playableEnd, position) }
    var isAtEnd: Bool { duration.isNumeric && position >= duration.seconds - 1e-9 }
    var isSeeking: Bool { seek != nil }

    /// Whether nothing more can be played, even if not reported yet.
    var isOutOfBytes: Bool {
      !isAtEnd && (status != .readyToPlay || playableEnd <= position + 1e-6)
    }
    /// Whether it does not report an empty buffer.
    var hidesEmptyBuffer = false

    public var isPlaybackBufferEmpty: Bool { isOutOfBytes && !hidesEmptyBuffer }
    /// Whether it ever reports that it is likely to keep up, or full. AVFoundation cannot measure a
    /// delegate's rate, and need not report either.
    package var standInPredicts = true

    public var isPlaybackBufferFull: Bool {
      standInPredicts && status == .readyToPlay && duration.isNumeric
        && playableEnd >= duration.seconds - 1e-6
    }
    public var isPlaybackLikelyToKeepUp: Bool {
      isPlaybackBufferFull
        || standInPredicts && status == .readyToPlay && playableEnd >= position + 1
    }

    public var loadedTimeRanges: [TimeRangeValue] {
      guard case .file(let format) = bytes.kind else { return [] }
      return bytes.spans.ranges.compactMap { span in
        let (start, end) = (
          format.seconds(at: span.lowerBound), format.seconds(at: span.upperBound)
        )
        guard start < end else { return nil }
        return TimeRangeValue(
          timeRangeValue: CMTimeRange(
            start: CMTime(seconds: start, preferredTimescale: 1_000_000),
            duration: CMTime(seconds: end - start, preferredTimescale: 1_000_000)))
      }
    }

    private func bytesChanged() {
      if status == .unknown { learn() }
      completeSeek()
      tellObservers()
      player?.settle()
    }

    private func learn() {
      switch bytes.kind {
      case .file(let format):
        duration = CMTime(seconds: format.seconds, preferredTimescale: 1_000_000)
        asset.standInDuration = duration
        asset.standInMetadata = AVMetadataItem.items(of: format)
        status = .readyToPlay
      case .stream: status = .readyToPlay
      case .unplayable:
        fail(
          NSError(
            domain: AVFoundationErrorDomain, code: AVError.Code.fileFormatNotRecognized.rawValue))
      case .unknown:
        if let failure = bytes.failure { fail(Self.error(of: failure)) }
      }
    }

    /// Posts the notification on the calling thread.
    nonisolated func postStall() {
      NotificationCenter.default.post(name: Self.playbackStalledNotification, object: self)
    }

    package func fail(_ error: any Error) {
      status = .failed
      self.error = error
    }

    /// Returns AVFoundation's error for a loader's error.
    static func error(of failure: any Error) -> NSError {
      NSError(
        domain: AVFoundationErrorDomain, code: AVError.Code.unknown.rawValue,
        userInfo: [NSUnderlyingErrorKey: failure])
    }

    // MARK: Seeking

    open func currentTime() -> CMTime {
      CMTime(seconds: position, preferredTimescale: 1_000_000)
    }

    open func seek(
      to time: CMTime, toleranceBefore: CMTime, toleranceAfter: CMTime,
      completionHandler: (@Sendable (Bool) -> Void)? = nil
    ) {
      if completionHandler != nil, status != .readyToPlay {
        player?.standInViolations.append(
          "NSInvalidArgumentException: a seek with a completion handler before it is ready")
        return
      }
      cancelPendingSeeks()
      let target = max(0, min(time.seconds, duration.isNumeric ? duration.seconds : .infinity))
      seek = (target, completionHandler)
      if case .file(let format) = bytes.kind, !isLoaded(target, format) {
        bytes.read(from: format.offset(of: target))
      }
      completeSeek()
      player?.settle()
    }

    open func cancelPendingSeeks() {
      guard let seek else { return }
      self.seek = nil
      if let completion = seek.completion { Task { completion(false) } }
    }

    private func isLoaded(_ time: Double, _ format: WAVFormat) -> Bool {
      let offset = format.offset(of: time)
      return offset >= format.body.upperBound
        || bytes.spans.ranges.contains { $0.contains(offset) }
    }

    private func completeSeek() {
      guard let seek else { return }
      if case .file(let format) = bytes.kind, !isLoaded(seek.target, format),
        bytes.failure == nil
      {
        return
      }
      self.seek = nil
      position = seek.target
      tellObservers()
      if let completion = seek.completion { Task { completion(true) } }
    }
  }

  extension WAVFormat {
    func offset(of seconds: Double) -> Int64 {
      min(body.lowerBound + Int64(seconds * Double(bytesPerSecond) + 1e-6), body.upperBound)
    }

    func seconds(at offset: Int64) -> Double {
      Double(min(max(offset - body.lowerBound, 0), Int64(body.count))) / Double(bytesPerSecond)
    }
  }
#endif
