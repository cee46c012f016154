// SPDX-License-Identifier: MIT

internal import NIOCore
internal import RefrainLocks

/// The shared state of a server's connections: resources, scripts and logs, by path.
final class OriginState: Sendable {
  /// A request with the settings of its path on arrival.
  struct Served {
    let path: String
    let request: ReceivedRequest
    let id: Int
    let resource: OriginResource?
    let serial: Int
    let faults: [Fault]
    /// The live stream to which the target belongs, unless a resource is served there.
    let live: LiveSource?
  }

  private struct Path {
    var resource: OriginResource?
    var serial = 0
    var script = FaultScript()
    var requestCount = 0
    var log = OriginLog()
    var sentByGeneration: [GenerationKey: RangeSet<Int64>] = [:]
    var connections: Set<Int> = []
  }

  private struct Waiter {
    let path: String
    let condition: @Sendable (OriginLog) -> Bool
    let continuation: CheckedContinuation<OriginLog, any Error>
  }

  private struct State {
    var paths: [String: Path] = [:]
    /// By the directories of their paths.
    var lives: [String: LiveSource] = [:]
    var waiters: [Int: Waiter] = [:]
    var channels: [Int: any Channel] = [:]
    var lastID = 0
    var connectionsAccepted = 0

    mutating func nextID() -> Int {
      lastID += 1
      return lastID
    }
  }

  private let state = Mutex(State())

  // MARK: What is served

  func serve(_ resource: OriginResource, at path: String) {
    state.withLock { state in
      let serial = state.nextID()
      state.paths[path, default: Path()].resource = resource
      state.paths[path, default: Path()].serial = serial
    }
  }

  func serve(_ live: LiveSource) {
    state.withLock { $0.lives[live.directory] = live }
  }

  func script(_ path: String, _ script: FaultScript) {
    state.withLock { state in
      state.paths[path, default: Path()].script = script
      state.paths[path, default: Path()].requestCount = 0
    }
  }

  /// Logs a request and returns how to respond to it. The path is the target as it is if that path
  /// is known, else the target without its query.
  func begin(_ method: String, _ target: String, _ headers: [Field], on connection: Int) -> Served {
    change { state in
      let bare = String(target.prefix { $0 != "?" })
      let path = state.paths[target] == nil ? bare : target
      let id = state.nextID()
      var entry = state.paths[path, default: Path()]
      entry.requestCount += 1
      let request = ReceivedRequest(
        number: entry.requestCount, method: method, target: target, headers: headers)
      if entry.connections.insert(connection).inserted {
        entry.log.connections += 1
        entry.log.openConnections += 1
      }
      entry.log.requests.append(LoggedRequest(request: request, id: id, connection: connection))
      state.paths[path] = entry
      let served = Served(
        path: path, request: request, id: id, resource: entry.resource, serial: entry.serial,
        faults: entry.script.faults(for: request),
        live: entry.resource == nil ? state.lives[LiveSource.directory(of: bare)] : nil)
      return (path, served)
    }
  }

  // MARK: Connections

  func opened(_ channel: any Channel) -> Int {
    state.withLock { state in
      let id = state.nextID()
      state.connectionsAccepted += 1
      state.channels[id] = channel
      return id
    }
  }

  func closed(_ connection: Int) {
    let paths = state.withLock { state in
      state.channels[connection] = nil
      return state.paths.filter { $0.value.connections.contains(connection) }.map(\.key)
    }
    for path in paths {
      change { state in
        if state.paths[path]?.connections.remove(connection) != nil {
          state.paths[path]?.log.openConnections -= 1
        }
        return (path, ())
      }
    }
  }

  var channels: [any Channel] { state.withLock { Array($0.channels.values) } }
  var connectionsAccepted: Int { state.withLock { $0.connectionsAccepted } }

  /// Returns the event loops of the open connections that requested the path.
  func eventLoops(of path: String) -> [any EventLoop] {
    let loops = state.withLock { state in
      state.paths[path]?.connections.compactMap { state.channels[$0]?.eventLoop } ?? []
    }
    return Array(Dictionary(loops.map { (ObjectIdentifier($0), $0) }) { first, _ in first }.values)
  }

  // MARK: The log

  func log(_ path: String) -> OriginLog { state.withLock { $0.paths[path]?.log ?? OriginLog() } }

  func resetLog(_ path: String) {
    state.withLock { state in
      guard let entry = state.paths[path] else { return }
      var log = OriginLog()
      log.connections = entry.connections.count
      log.openConnections = entry.connections.count
      log.stalled = entry.log.stalled
      state.paths[path]?.log = log
      state.paths[path]?.sentByGeneration = [:]
    }
  }

  /// Changes the log of a path; `request` is its index, `nil` if the log was reset since it came.
  func note(
    _ path: String, _ id: Int, _ body: (_ log: inout OriginLog, _ request: Int?) -> Void
  ) {
    change { state in
      if let index = state.paths.index(forKey: path) {
        let request = state.paths.values[index].log.requests.lastIndex { $0.id == id }
        body(&state.paths.values[index].log, request)
      }
      return (path, ())
    }
  }

  func sent(
    _ path: String, _ id: Int, bytes: Int64, range: Range<Int64>?, of generation: GenerationKey
  ) {
    change { state in
      guard let index = state.paths.index(forKey: path) else { return (path, ()) }
      func count(_ entry: inout Path) {
        entry.log.bodyBytesSent += bytes
        if let request = entry.log.requests.lastIndex(where: { $0.id == id }) {
          entry.log.requests[request].bodyBytesSent += bytes
        }
        guard let range, !range.isEmpty else { return }
        let before = entry.sentByGeneration[generation, default: RangeSet()]
        entry.log.bytesSentTwice += before.intersection(RangeSet(range)).total
        entry.sentByGeneration[generation, default: RangeSet()].insert(contentsOf: range)
        entry.log.sent.insert(contentsOf: range)
      }
      count(&state.paths.values[index])
      return (path, ())
    }
  }

  // MARK: Waiting

  func wait(
    _ path: String, _ condition: @escaping @Sendable (OriginLog) -> Bool
  ) async throws -> OriginLog {
    let id = state.withLock { $0.nextID() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<OriginLog, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          let log = state.paths[path]?.log ?? OriginLog()
          if condition(log) { return .success(log) }
          state.waiters[id] = Waiter(path: path, condition: condition, continuation: continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
      waiter?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Changes the state, then wakes the waiters whose condition the path's log now meets.
  private func change<Value>(_ body: (inout State) -> (path: String, value: Value)) -> Value {
    let (value, ready, log) = state.withLock { state in
      let (path, value) = body(&state)
      guard !state.waiters.isEmpty, let log = state.paths[path]?.log else {
        return (value, [Waiter](), OriginLog())
      }
      let ids = state.waiters.filter { $0.value.path == path && $0.value.condition(log) }.keys
      return (value, ids.compactMap { state.waiters.removeValue(forKey: $0) }, log)
    }
    for waiter in ready { waiter.continuation.resume(returning: log) }
    return value
  }
}

extension RangeSet where Bound == Int64 {
  /// The number of offsets in the set.
  var total: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }
}
