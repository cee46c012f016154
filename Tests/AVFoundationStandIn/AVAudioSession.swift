// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Foundation
  import RefrainLocks

  @available(macOS, unavailable)
  public let AVAudioSessionInterruptionTypeKey = "AVAudioSessionInterruptionTypeKey"
  @available(macOS, unavailable)
  public let AVAudioSessionInterruptionOptionKey = "AVAudioSessionInterruptionOptionKey"
  @available(macOS, unavailable)
  public let AVAudioSessionRouteChangeReasonKey = "AVAudioSessionRouteChangeReasonKey"

  /// AVAudioSession of iOS, recording the calls it receives. Not declared Sendable, because not
  /// every SDK does.
  @available(macOS, unavailable)
  open class AVAudioSession: NSObject {
    public struct Category: RawRepresentable, Hashable, Sendable {
      public let rawValue: String
      public init(rawValue: String) { self.rawValue = rawValue }
      public static let soloAmbient = Category(rawValue: "SoloAmbient")
      public static let playback = Category(rawValue: "Playback")
    }

    public struct Mode: RawRepresentable, Hashable, Sendable {
      public let rawValue: String
      public init(rawValue: String) { self.rawValue = rawValue }
      public static let `default` = Mode(rawValue: "Default")
    }

    public struct CategoryOptions: OptionSet, Sendable {
      public let rawValue: UInt
      public init(rawValue: UInt) { self.rawValue = rawValue }
    }

    public struct SetActiveOptions: OptionSet, Sendable {
      public let rawValue: UInt
      public init(rawValue: UInt) { self.rawValue = rawValue }
      public static let notifyOthersOnDeactivation = SetActiveOptions(rawValue: 1)
    }

    public enum InterruptionType: UInt, Sendable {
      case ended = 0
      case began = 1
    }

    public struct InterruptionOptions: OptionSet, Sendable {
      public let rawValue: UInt
      public init(rawValue: UInt) { self.rawValue = rawValue }
      public static let shouldResume = InterruptionOptions(rawValue: 1)
    }

    public enum RouteChangeReason: UInt, Sendable {
      case unknown = 0
      case newDeviceAvailable = 1
      case oldDeviceUnavailable = 2
      case categoryChange = 3
    }

    public static let interruptionNotification = Notification.Name("AVAudioSessionInterruption")
    public static let routeChangeNotification = Notification.Name("AVAudioSessionRouteChange")
    @available(macOS, unavailable)
    public static let mediaServicesWereResetNotification = Notification.Name(
      "AVAudioSessionMediaServicesWereReset")

    private struct State {
      var category = Category.soloAmbient
      var isActive = false
      var refusal: NSError?
    }
    private let state = Mutex(State())

    /// Unsafe only by its type: a lock guards the mutable state.
    private nonisolated(unsafe) static let shared = AVAudioSession()
    open class func sharedInstance() -> AVAudioSession { shared }

    override package init() {}

    open var category: Category { state.withLock { $0.category } }

    open func setCategory(
      _ category: Category, mode: Mode, options: CategoryOptions = []
    ) throws {
      state.withLock { $0.category = category }
    }

    open func setActive(_ active: Bool, options: SetActiveOptions = []) throws {
      try state.withLock { state in
        if active, let refusal = state.refusal { throw refusal }
        state.isActive = active
      }
    }

    package var standInIsActive: Bool { state.withLock { $0.isActive } }
    /// The error that activation throws.
    package var standInRefusal: NSError? {
      get { state.withLock { $0.refusal } }
      set { state.withLock { $0.refusal = newValue } }
    }

    // MARK: What the system tells

    package func standInInterrupt() {
      post(
        Self.interruptionNotification,
        [AVAudioSessionInterruptionTypeKey: InterruptionType.began.rawValue])
    }

    package func standInEndInterruption(shouldResume: Bool) {
      let options: InterruptionOptions = shouldResume ? .shouldResume : []
      post(
        Self.interruptionNotification,
        [
          AVAudioSessionInterruptionTypeKey: InterruptionType.ended.rawValue,
          AVAudioSessionInterruptionOptionKey: options.rawValue,
        ])
    }

    package func standInChangeRoute(_ reason: RouteChangeReason) {
      post(Self.routeChangeNotification, [AVAudioSessionRouteChangeReasonKey: reason.rawValue])
    }

    package func standInResetMediaServices() { post(Self.mediaServicesWereResetNotification, [:]) }

    private func post(_ name: Notification.Name, _ details: [AnyHashable: Any]) {
      NotificationCenter.default.post(name: name, object: self, userInfo: details)
    }
  }
#endif
