// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// Serves requests at once: from the file, if all requested bytes are stored and fresh.
extension ProxyConnection {
  /// Responds from the file if all requested bytes are stored and fresh: without a task and without
  /// a copy. Returns whether it did.
  func answerAtOnce(_ head: RequestHead, _ started: NIODeadline) -> Bool {
    guard let clients = setup.clients, clients.canAnswerAtOnce(head),
      let resource = cachedHit(head, clients)
    else { return false }
    let now = NIODeadline.now()
    guard let hit = resource.hit(for: head, at: now, reusing: &headBuffer) else { return false }
    let closes = !head.keepsAlive || closesAfterAnswer || setup.isEnding
    CachedHit.finishHead(&headBuffer, closes: closes)
    guard let context else { return false }
    clients.traffic.noteFirstByte(after: Double((now - started).nanoseconds) / 1e9)
    if closes { closesAfterAnswer = true }
    acceptedOfHit = 0
    boundSending(false, context)
    let length = hit.range.upperBound - hit.range.lowerBound
    let promise = context.eventLoop.makePromise(of: Void.self)
    if let file = hit.file, !head.isHEAD, length > 0 {
      context.write(wrapOutboundOut(.byteBuffer(headBuffer)), promise: nil)
      promise.futureResult.assumeIsolated().whenComplete { [self] result in
        wrote(hit, length, head, started, clients, result)
      }
      send(file, hit.range, context, promise)
    } else {
      context.write(wrapOutboundOut(.byteBuffer(headBuffer)), promise: promise)
      promise.futureResult.assumeIsolated().whenComplete { [self] result in
        wrote(hit, 0, head, started, clients, result)
      }
    }
    context.flush()
    return true
  }

  func wrote(
    _ hit: CachedHit.Hit, _ sent: Int64, _ head: RequestHead, _ started: NIODeadline,
    _ clients: ClientSide, _ result: Result<Void, any Error>
  ) {
    var isSent = true
    if case .failure = result { isSent = false }
    let seconds = Self.seconds(since: started)
    let bytesSent = isSent ? sent : acceptedOfHit
    clients.traffic.note(
      Traffic.Outcome(
        source: .hit, bytesSent: bytesSent, savedBytes: bytesSent, seconds: seconds))
    clients.log.note(head) {
      var request = ServedRequest(
        method: head.method, url: hit.urlText, status: hit.status,
        range: hit.status == 206 ? hit.range : nil, bytesSent: bytesSent, source: .hit,
        seconds: seconds, client: clientText, error: nil)
      request.bytesFromCache = bytesSent
      return request
    }
    clients.traffic.noteSent(bytesSent - acceptedOfHit)
    // No further request is served for a client that is gone.
    finished(keepsAlive: isSent && !closesAfterAnswer)
  }

  /// Counts a part of the hit's body that the socket has accepted: the client may leave before the
  /// end.
  func noteAccepted(_ part: ByteRange) {
    let count = part.upperBound - part.lowerBound
    acceptedOfHit += count
    setup.clients?.traffic.noteSent(count)
  }

  static func seconds(since start: NIODeadline) -> Double {
    Double((NIODeadline.now() - start).nanoseconds) / 1e9
  }

  func cachedHit(_ head: RequestHead, _ clients: ClientSide) -> CachedHit? {
    guard isForUs(head, clients) else { return nil }
    let isRecent = head.withTarget { target in
      recent?.target.withUnsafeReadableBytes { bytes in
        bytes.count == target.count && (bytes.isEmpty || bytes.elementsEqual(target))
      } == true
    }
    if isRecent, let resource = recent?.resource, resource.isLeased { return resource }
    recent = nil
    guard let resource = clients.cachedHit(head) else { return nil }
    recent = (ByteBuffer(string: head.target), resource)
    return resource
  }

  func isForUs(_ head: RequestHead, _ clients: ClientSide) -> Bool {
    head.withHost { host in
      guard let host else { return false }
      let isKnown = checkedHost?.withUnsafeReadableBytes { $0.elementsEqual(host) } == true
      if isKnown { return true }
      let text = String(decoding: host, as: UTF8.self)
      guard clients.isOurs(host: text, localAddress: localText) else { return false }
      checkedHost = ByteBuffer(string: text)
      return true
    }
  }
}
