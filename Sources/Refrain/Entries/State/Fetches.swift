// SPDX-License-Identifier: MIT

extension GenerationState {
  /// The fetches that run for a generation, and how its origin has fared. A pure value.
  struct Fetches: Sendable, Sequence {
    private var running: [FetchID: RunningFetch] = [:]
    /// Whether those without readers are being watched (`Action.watchAbandoned`).
    private var isWatched = false
    var lastCut: LastCut?
    /// The recent rate of the origin, in bytes per second.
    private(set) var rate: Double?
    /// The shortest time from a request to the head of its response, in seconds.
    private(set) var latency: Double?

    subscript(id: FetchID) -> RunningFetch? {
      get { running[id] }
      set { running[id] = newValue }
    }

    func makeIterator() -> Dictionary<FetchID, RunningFetch>.Iterator { running.makeIterator() }

    var ids: Dictionary<FetchID, RunningFetch>.Keys { running.keys }
    var values: Dictionary<FetchID, RunningFetch>.Values { running.values }
    var isEmpty: Bool { running.isEmpty }
    var count: Int { running.count }
    var positions: [FetchID: Int64] { running.mapValues(\.position) }

    mutating func remove(_ id: FetchID) -> RunningFetch? { running.removeValue(forKey: id) }

    mutating func move(_ id: FetchID, to position: Int64) {
      guard let fetch = running[id] else { return }
      running[id]?.position = Swift.max(fetch.position, position)
    }

    /// Limits every fetch to the length of the resource.
    mutating func bound(to length: Int64) {
      for (id, fetch) in running where fetch.range.upperBound > length {
        let lower = Swift.min(fetch.range.lowerBound, length)
        running[id]?.range = lower..<length
      }
    }

    // MARK: Pausing and ending

    /// Resumes a fetch if it is paused.
    mutating func resume(_ id: FetchID) -> [Action] {
      guard let paused = running[id]?.paused else { return [] }
      running[id]?.paused = nil
      return [.wake([paused], nil)]
    }

    /// Ends a fetch for lack of readers.
    mutating func callOff(_ id: FetchID) -> [Action] {
      running[id]?.isCalledOff = true
      return running[id]?.task.map { [.cancel($0)] } ?? []
    }

    func cancelAll() -> [Action] { running.values.compactMap(\.task).map { .cancel($0) } }

    /// Has fetches without readers watched, unless they are.
    mutating func watch() -> [Action] {
      if isWatched { return [] }
      isWatched = true
      return [.watchAbandoned]
    }

    mutating func stopWatching() { isWatched = false }

    // MARK: How fast the origin is

    mutating func noteRate(_ bytesPerSecond: Double) {
      rate = rate.map { $0 * 0.7 + bytesPerSecond * 0.3 } ?? bytesPerSecond
    }

    /// - Parameter time: from a request to the head of its response.
    mutating func noteLatency(_ time: Duration) {
      latency = Swift.min(latency ?? .infinity, time.seconds)
    }
  }
}
