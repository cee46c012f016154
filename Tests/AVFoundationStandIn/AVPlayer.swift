// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Dispatch
  public import Foundation
  import RefrainLocks

  /// AVPlayer as documented by Apple, in time that a test advances.
  @available(iOS 4, macOS 10.7, tvOS 9, visionOS 1, *)
  @MainActor open class AVPlayer: ObservedObject, KeyValueObserved {
    public enum Status: Int, Sendable {
      case unknown, readyToPlay, failed
    }

    @available(iOS 10, macOS 10.12, tvOS 10, visionOS 1, *)
    public enum TimeControlStatus: Int, Sendable {
      case paused, waitingToPlayAtSpecifiedRate, playing
    }

    public struct WaitingReason: RawRepresentable, Hashable, Sendable {
      public let rawValue: String
      public init(rawValue: String) { self.rawValue = rawValue }
      public static let toMinimizeStalls = WaitingReason(rawValue: "ToMinimizeStalls")
      public static let evaluatingBufferingRate = WaitingReason(rawValue: "EvaluatingBufferingRate")
      public static let noItemToPlay = WaitingReason(rawValue: "NoItemToPlay")
    }

    public enum ActionAtItemEnd: Int, Sendable {
      case advance, pause, none
    }

    @available(iOS 15, macOS 12, tvOS 15, visionOS 1, *)
    public struct RateDidChangeReason: RawRepresentable, Hashable, Sendable {
      public let rawValue: String
      public init(rawValue: String) { self.rawValue = rawValue }
      public static let setRateCalled = RateDidChangeReason(rawValue: "SetRateCalled")
      public static let setRateFailed = RateDidChangeReason(rawValue: "SetRateFailed")
      public static let audioSessionInterrupted = RateDidChangeReason(
        rawValue: "AudioSessionInterrupted")
      public static let appBackgrounded = RateDidChangeReason(rawValue: "AppBackgrounded")
    }

    @available(iOS 15, macOS 12, tvOS 15, visionOS 1, *)
    public nonisolated static let rateDidChangeNotification = Notification.Name(
      "AVPlayerRateDidChange")
    @available(iOS 15, macOS 12, tvOS 15, visionOS 1, *)
    public nonisolated static let rateDidChangeReasonKey = "AVPlayerRateDidChangeReason"

    public internal(set) var status = Status.unknown
    public internal(set) var error: (any Error)?
    @available(iOS 10, macOS 10.12, tvOS 10, visionOS 1, *)
    public internal(set) var timeControlStatus = TimeControlStatus.paused
    @available(iOS 10, macOS 10.12, tvOS 10, visionOS 1, *)
    public internal(set) var reasonForWaitingToPlay: WaitingReason?
    public internal(set) var currentItem: AVPlayerItem?
    @available(iOS 16, macOS 13, tvOS 16, visionOS 1, *)
    open var defaultRate: Float = 1
    open var volume: Float = 1
    open var isMuted = false
    @available(iOS 10, macOS 10.12, tvOS 10, visionOS 1, *)
    open var automaticallyWaitsToMinimizeStalling = true
    @available(iOS 6, macOS 10.11, tvOS 9, *)
    @available(visionOS, unavailable)
    open var allowsExternalPlayback = true
    open var actionAtItemEnd = ActionAtItemEnd.pause

    /// Calls for which AVFoundation throws, a sentence each.
    package var standInViolations: [String] = []
    /// The reports of running out of bytes; nil: all at once.
    package var standInStall: StandInStall?
    /// Whether stall reports are still to come.
    package internal(set) var standInIsStalling = false
    /// The delay of notifications of the rate, which are then posted on another thread; nil: at
    /// once, on the main one.
    package var standInNoticeLag: Duration?
    let observers = TimeObservers()
    private var speed: Float = 0
    /// Whether it was asked not to wait, and has not played since.
    private var isImmediate = false

    override public init() { super.init() }

    public convenience init(playerItem item: AVPlayerItem?) {
      self.init()
      replaceCurrentItem(with: item)
    }

    // MARK: Playing

    open var rate: Float {
      get { speed }
      set { set(rate: newValue, reason: .setRateCalled) }
    }

    open func play() { rate = defaultRate }
    open func pause() { rate = 0 }

    /// Plays what is loaded, without waiting for more.
    @available(iOS 10, macOS 10.12, tvOS 10, visionOS 1, *)
    open func playImmediately(atRate rate: Float) {
      isImmediate = true
      self.rate = rate
      settle()
    }

    func set(rate: Float, reason: RateDidChangeReason?) {
      guard speed != rate else { return }
      speed = rate
      settle()
      guard let lag = standInNoticeLag else { return postRateChange(reason) }
      Task.detached { [weak self] in
        try await Task.sleep(for: lag)
        self?.postRateChange(reason)
      }
    }

    nonisolated private func postRateChange(_ reason: RateDidChangeReason?) {
      var details: [AnyHashable: Any] = [:]
      if let reason { details[Self.rateDidChangeReasonKey] = reason.rawValue }
      NotificationCenter.default.post(
        name: Self.rateDidChangeNotification, object: self, userInfo: details)
    }

    /// Pauses as the system does, for example for a phone call.
    package func standInPause(for reason: RateDidChangeReason?) { set(rate: 0, reason: reason) }

    /// Makes the player unusable.
    package func standInFail(_ error: any Error) {
      status = .failed
      self.error = error
      set(rate: 0, reason: nil)
      tellObservers()
    }

    open func replaceCurrentItem(with item: AVPlayerItem?) {
      leave(currentItem)
      currentItem = item
      enqueue(item)
      settle()
    }

    func enqueue(_ item: AVPlayerItem?) {
      guard let item else { return }
      if item.player != nil {
        standInViolations.append(
          "NSInvalidArgumentException: an item cannot be associated with more than one player")
      }
      item.player = self
      status = .readyToPlay
      item.bytes.begin()
    }

    func leave(_ item: AVPlayerItem?) {
      item?.cancelPendingSeeks()
      item?.bytes.cancel()
      item?.player = nil
    }

    open func currentTime() -> CMTime { currentItem?.currentTime() ?? .zero }

    // MARK: What follows from what has come

    /// Determines whether it plays, waits, or is paused, and notifies the observers.
    func settle() {
      defer { tellObservers() }
      guard !standInIsStalling else { return }
      let hasStalled = reasonForWaitingToPlay == .toMinimizeStalls
      reasonForWaitingToPlay = nil
      guard speed != 0 else { return timeControlStatus = .paused }
      guard let item = currentItem else { return wait(.noItemToPlay) }
      guard item.status == .readyToPlay, !item.isSeeking else {
        return wait(.evaluatingBufferingRate)
      }
      guard item.isOutOfBytes else {
        // A player that waits resumes when it predicts no stall, or can load no more.
        if hasStalled, automaticallyWaitsToMinimizeStalling, !isImmediate,
          !item.isPlaybackLikelyToKeepUp, !item.isPlaybackBufferFull
        {
          return wait(.toMinimizeStalls)
        }
        isImmediate = false
        item.hidesEmptyBuffer = false
        return timeControlStatus = .playing
      }
      if let failure = item.bytes.failure { return fail(item, failure) }
      if automaticallyWaitsToMinimizeStalling {
        if timeControlStatus == .playing { postStall(item) }
        return wait(.toMinimizeStalls)
      }
      let wasPlaying = timeControlStatus == .playing
      if wasPlaying, let standInStall { return begin(standInStall, of: item) }
      timeControlStatus = .paused
      set(rate: 0, reason: nil)
      if wasPlaying { postStall(item) }
    }

    private func wait(_ reason: WaitingReason) {
      timeControlStatus = .waitingToPlayAtSpecifiedRate
      reasonForWaitingToPlay = reason
    }

    /// Reports the stall piece by piece.
    private func begin(_ stall: StandInStall, of item: AVPlayerItem) {
      standInIsStalling = true
      item.hidesEmptyBuffer = true
      Task { [weak self] in
        for report in stall.order {
          try? await Task.sleep(for: stall.gap)
          guard let self, currentItem === item else { break }
          switch report {
          case .rate:
            timeControlStatus = .paused
            set(rate: 0, reason: nil)
          case .buffer:
            item.hidesEmptyBuffer = false
            item.tellObservers()
          case .notice: await Task.detached { item.postStall() }.value
          }
        }
        self?.standInIsStalling = false
        self?.settle()
      }
    }

    private func postStall(_ item: AVPlayerItem) { item.postStall() }

    private func fail(_ item: AVPlayerItem, _ failure: any Error) {
      timeControlStatus = .paused
      set(rate: 0, reason: nil)
      NotificationCenter.default.post(
        name: AVPlayerItem.failedToPlayToEndTimeNotification, object: item,
        userInfo: [AVPlayerItemFailedToPlayToEndTimeErrorKey: AVPlayerItem.error(of: failure)])
    }

    /// Pauses at the end of an item if `actionAtItemEnd` says so; a queue can advance instead.
    func itemHasEnded() {
      if actionAtItemEnd == .pause { set(rate: 0, reason: nil) }
    }

    // MARK: Time

    nonisolated open func addPeriodicTimeObserver(
      forInterval interval: CMTime, queue: DispatchQueue?,
      using block: @escaping @Sendable (CMTime) -> Void
    ) -> Any {
      observers.add(interval.seconds, block)
    }

    nonisolated open func removeTimeObserver(_ observer: Any) { observers.remove(observer) }

    package var standInTimeObserverCount: Int { observers.count }
  }

  /// The reports of a player that ran out of bytes. Apple documents neither an order of these
  /// reports nor that each of them comes.
  package struct StandInStall: Sendable, Hashable {
    package enum Report: Sendable, Hashable, CaseIterable {
      /// `rate` is 0, and `timeControlStatus` is paused.
      case rate
      /// `isPlaybackBufferEmpty` is true.
      case buffer
      /// `playbackStalledNotification`, on a thread that is not the main one.
      case notice
    }

    package var order: [Report]
    /// The time before each of them.
    package var gap: Duration

    package init(_ order: [Report], gap: Duration = .milliseconds(3)) {
      self.order = order
      self.gap = gap
    }
  }
#endif
